"use strict";
// Adds to a page that can be read without it: what a mark means, hidden series, zoom.
(() => {
  const make = (name, attributes, text) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    if (text !== undefined) one.textContent = text;
    return one;
  };

  // -- what a mark means: the nearest one to the pointer ----------------------------------------
  const tip = document.getElementById("tip");
  const hide = (svg) => {
    tip.hidden = true;
    svg.querySelectorAll(".near").forEach((mark) => mark.classList.remove("near"));
  };
  const explain = (svg) => {
    const marks = [...svg.querySelectorAll("title")].map((title) => {
      const mark = title.parentNode;
      mark.dataset.tip = title.textContent;
      title.remove();
      return mark;
    });
    svg.addEventListener("pointermove", (event) => {
      let nearest = null, least = 24;
      for (const mark of marks) {
        const box = mark.getBoundingClientRect();
        if (!box.width || mark.closest("[hidden]") || mark.style.display === "none") continue;
        const dx = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const dy = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const distance = Math.hypot(dx, dy);
        if (distance < least) [nearest, least] = [mark, distance];
      }
      hide(svg);
      if (!nearest) return;
      nearest.classList.add("near");
      tip.textContent = nearest.dataset.tip;
      tip.hidden = false;
      const width = tip.offsetWidth, height = tip.offsetHeight;
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4)) + "px";
      tip.style.top = (event.clientY > height + 20 ? event.clientY - height - 12 : event.clientY + 18) + "px";
    });
    svg.addEventListener("pointerleave", () => hide(svg));
  };

  // -- hidden series ----------------------------------------------------------------------------
  const toggles = (figure) => {
    for (const item of figure.querySelectorAll(".legend li")) {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(...item.childNodes);
      item.append(button);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        for (const series of figure.querySelectorAll(".chart .series")) {
          if (series.dataset.series === item.dataset.series) series.toggleAttribute("hidden", !shown);
        }
      });
    }
  };

  // -- zoom: places are moved, so that lines and text keep their size ------------------------------
  const digits = (value) => String(Number(value.toPrecision(3)));
  const short = (value) => {
    const size = Math.abs(value);
    for (const [unit, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (size >= factor * 0.9995) return digits(value / factor) + unit;
    }
    if (value === 0 || size >= 0.0009995) return digits(value);
    const power = Math.floor(Math.log10(size) + 1e-4), first = digits(value / 10 ** power);
    const raised = "10" + [...String(power)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
    return first === "1" ? raised : first + "·" + raised;
  };
  const round = (low, high) => {
    const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
    return found;
  };
  const ticks = (axis, from, to) => { // from and to are shares of the whole axis
    const low = axis.low + from * (axis.high - axis.low), high = axis.low + to * (axis.high - axis.low);
    if (!axis.log) return round(low, high);
    const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9), found = [];
    if (last - first >= 2) {
      const step = Math.max(1, Math.ceil((last - first) / 6));
      for (let power = first; power <= last; power += step) found.push(10 ** power);
      return found;
    }
    if (high - low < 0.5) return round(10 ** low, 10 ** high);
    for (let power = first - 1; power <= last; power++) {
      for (const f of [1, 2, 5]) found.push(f * 10 ** power);
    }
    return found.filter((v) => Math.log10(v) >= low - 1e-9 && Math.log10(v) <= high + 1e-9);
  };
  const read = (text) => {
    const [kind, low, high] = text.split(" "), log = kind === "log";
    return { log, low: log ? Math.log10(low) : Number(low), high: log ? Math.log10(high) : Number(high) };
  };

  const zooming = (svg, number) => {
    const [left, top, right, bottom] = svg.dataset.zoom.split(" ").map(Number);
    const axes = { x: read(svg.dataset.x), y: read(svg.dataset.y) };
    const group = svg.querySelector(".ticks"), plot = svg.parentNode;
    const frame = { left, top, width: right - left, height: bottom - top };
    const all = { x0: 0, x1: 1, y0: 0, y1: 1 }; // shares of the whole, y upwards
    let view = { ...all };
    const clip = make("clipPath", { id: "clip" + number });
    clip.append(make("rect", { x: left - 6, y: top - 6, width: frame.width + 12, height: frame.height + 12 }));
    svg.prepend(clip);
    svg.querySelector(".marks").setAttribute("clip-path", `url(#clip${number})`);
    const move = (x, y) => [
      left + ((x - left) / frame.width - view.x0) / (view.x1 - view.x0) * frame.width,
      bottom - ((bottom - y) / frame.height - view.y0) / (view.y1 - view.y0) * frame.height,
    ];
    const lines = [...svg.querySelectorAll(".marks polyline")].map((line) =>
      [line, line.getAttribute("points").trim().split(" ").map((pair) => pair.split(",").map(Number))]);
    const points = [...svg.querySelectorAll(".marks .pt")].map((point) =>
      [point, point.getAttribute("transform").match(/-?[\d.]+/g).map(Number)]);
    const texts = [...svg.querySelectorAll(".marks text")].map((text) =>
      [text, Number(text.dataset.gap), Number(text.getAttribute("x")) - Number(text.dataset.gap), Number(text.getAttribute("y")) - 4]);
    const inside = ([x, y]) => x > left - 7 && x < right + 7 && y > top - 7 && y < bottom + 7;
    const draw = () => {
      for (const [line, places] of lines) line.setAttribute("points", places.map((p) => move(...p).join(",")).join(" "));
      for (const [point, place] of points) {
        const at = move(...place);
        point.setAttribute("transform", `translate(${at[0]} ${at[1]})`);
        point.style.display = inside(at) ? "" : "none";
      }
      for (const [text, gap, x, y] of texts) {
        const at = move(x, y);
        text.setAttribute("x", at[0] + gap);
        text.setAttribute("y", at[1] + 4);
      }
      group.replaceChildren();
      const share = (axis, value) => ((axis.log ? Math.log10(value) : value) - axis.low) / (axis.high - axis.low);
      for (const value of ticks(axes.x, view.x0, view.x1)) {
        const [x] = move(left + share(axes.x, value) * frame.width, bottom);
        group.append(make("path", { d: `M${x} ${top}V${bottom}` }), make("text", { x, y: bottom + 14 }, short(value)));
      }
      for (const value of ticks(axes.y, view.y0, view.y1)) {
        const [, y] = move(left, bottom - share(axes.y, value) * frame.height);
        group.append(make("path", { d: `M${left} ${y}H${right}` }), make("text", { class: "y", x: left - 5, y: y + 4 }, short(value)));
      }
      reset.hidden = view.x0 === 0 && view.x1 === 1 && view.y0 === 0 && view.y1 === 1;
    };
    const show = (next) => {
      if (next.x1 - next.x0 < 1e-3 || next.y1 - next.y0 < 1e-3) return;
      view = next;
      draw();
    };
    const scaled = (factor) => {
      const half = (a, b) => (b - a) * factor / 2, mid = (a, b) => (a + b) / 2;
      const wx = Math.min(half(view.x0, view.x1), 0.5), wy = Math.min(half(view.y0, view.y1), 0.5);
      const cx = Math.min(Math.max(mid(view.x0, view.x1), wx), 1 - wx);
      const cy = Math.min(Math.max(mid(view.y0, view.y1), wy), 1 - wy);
      show({ x0: cx - wx, x1: cx + wx, y0: cy - wy, y1: cy + wy });
    };
    const shifted = (dx, dy) => {
      const sx = dx * (view.x1 - view.x0), sy = dy * (view.y1 - view.y0);
      const x = Math.min(Math.max(sx, -view.x0), 1 - view.x1), y = Math.min(Math.max(sy, -view.y0), 1 - view.y1);
      show({ x0: view.x0 + x, x1: view.x1 + x, y0: view.y0 + y, y1: view.y1 + y });
    };

    const tools = document.createElement("div");
    tools.className = "tools";
    const button = (text, name, action) => {
      const one = document.createElement("button");
      Object.assign(one, { type: "button", textContent: text, title: name });
      one.setAttribute("aria-label", name);
      one.addEventListener("click", action);
      tools.append(one);
      return one;
    };
    button("+", "Zoom in", () => scaled(0.6));
    button("−", "Zoom out", () => scaled(1 / 0.6));
    const reset = button("↺", "Show all", () => { show({ ...all }); plot.focus(); });
    reset.hidden = true;
    plot.parentNode.querySelector(".head").append(tools);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", "Plot. Plus and minus zoom, arrow keys move, 0 shows all.");
    plot.addEventListener("keydown", (event) => {
      const actions = {
        "+": () => scaled(0.6), "=": () => scaled(0.6), "-": () => scaled(1 / 0.6), "0": () => show({ ...all }),
        ArrowLeft: () => shifted(-0.2, 0), ArrowRight: () => shifted(0.2, 0),
        ArrowUp: () => shifted(0, 0.2), ArrowDown: () => shifted(0, -0.2),
      };
      const zoomed = !reset.hidden;
      if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      if (event.key.startsWith("Arrow") && !zoomed) return; // then the page scrolls
      event.preventDefault();
      actions[event.key]();
    });

    let start = null, brush = null;
    const place = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [Math.min(Math.max(at.x, left), right), Math.min(Math.max(at.y, top), bottom)];
    };
    svg.classList.add("zoomable");
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button) return;
      event.preventDefault();
      start = place(event);
      svg.setPointerCapture(event.pointerId);
      brush = make("rect", { class: "brush" });
      svg.append(brush);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!start) return;
      const [x, y] = place(event);
      const box = { x: Math.min(x, start[0]), y: Math.min(y, start[1]), width: Math.abs(x - start[0]), height: Math.abs(y - start[1]) };
      for (const key in box) brush.setAttribute(key, box[key]);
    });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const end = place(event), [from] = [start];
      brush.remove();
      start = null;
      if (Math.abs(end[0] - from[0]) < 8 || Math.abs(end[1] - from[1]) < 8) return;
      const sx = (x) => view.x0 + (x - left) / frame.width * (view.x1 - view.x0);
      const sy = (y) => view.y0 + (bottom - y) / frame.height * (view.y1 - view.y0);
      const xs = [sx(from[0]), sx(end[0])], ys = [sy(from[1]), sy(end[1])];
      show({ x0: Math.min(...xs), x1: Math.max(...xs), y0: Math.min(...ys), y1: Math.max(...ys) });
    });
    svg.addEventListener("pointercancel", () => { brush?.remove(); start = null; });
    svg.addEventListener("dblclick", () => show({ ...all }));
  };

  document.querySelectorAll(".chart").forEach(explain);
  document.querySelectorAll("figure").forEach(toggles);
  document.querySelectorAll(".chart[data-zoom]").forEach(zooming);

  // -- the contents: folded where there is little room, and where one is -------------------------
  const contents = document.querySelector("nav details");
  if (matchMedia("(max-width: 62rem)").matches) contents.open = false;
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watcher.observe(section));

  // Paper has nothing to click on.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.fold:not([open])")];
    closed.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
})();
