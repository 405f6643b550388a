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

  const WHOLE = { x0: 0, x1: 1, y0: 0, y1: 1 }; // shares of the axes, y upwards

  class View {
    constructor(svg, number) {
      const [left, top, right, bottom] = svg.dataset.zoom.split(" ").map(Number);
      Object.assign(this, { svg, left, top, right, bottom, width: right - left, height: bottom - top });
      this.axes = { x: read(svg.dataset.x), y: read(svg.dataset.y) };
      this.shown = WHOLE;
      this.changed = () => {};
      const marks = svg.querySelector(".marks"), all = (name) => [...marks.querySelectorAll(name)];
      this.lines = all("polyline").map((line) =>
        [line, line.getAttribute("points").trim().split(" ").map((pair) => pair.split(",").map(Number))]);
      this.points = all(".pt, .leader").map((point) =>
        [point, point.getAttribute("transform").match(/-?[\d.]+/g).map(Number)]);
      this.texts = all("text").map((text) => {
        const [x, y] = text.dataset.from.split(" ").map(Number); // the point it belongs to
        return [text, Number(text.getAttribute("x")) - x, Number(text.getAttribute("y")) - y, [x, y]];
      });
      const clip = make("clipPath", { id: "clip" + number });
      clip.append(make("rect", { x: left - 6, y: top - 6, width: this.width + 12, height: this.height + 12 }));
      svg.prepend(clip);
      marks.setAttribute("clip-path", `url(#clip${number})`);
    }

    place([x, y]) { // where what is at (x, y) of the whole plot is now
      const { x0, x1, y0, y1 } = this.shown;
      return [
        this.left + ((x - this.left) / this.width - x0) / (x1 - x0) * this.width,
        this.bottom - ((this.bottom - y) / this.height - y0) / (y1 - y0) * this.height,
      ];
    }

    shares([x, y]) { // of the axes, of what is now at (x, y)
      const { x0, x1, y0, y1 } = this.shown;
      return [x0 + (x - this.left) / this.width * (x1 - x0), y0 + (this.bottom - y) / this.height * (y1 - y0)];
    }

    inside([x, y]) {
      return x > this.left - 7 && x < this.right + 7 && y > this.top - 7 && y < this.bottom + 7;
    }

    show(next) {
      if (next.x1 - next.x0 < 1e-3 || next.y1 - next.y0 < 1e-3) return;
      this.shown = next;
      for (const [line, places] of this.lines) {
        line.setAttribute("points", places.map((one) => this.place(one).join(",")).join(" "));
      }
      for (const [point, place] of this.points) {
        const at = this.place(place);
        point.setAttribute("transform", `translate(${at[0]} ${at[1]})`);
        point.style.display = this.inside(at) ? "" : "none";
      }
      for (const [text, dx, dy, place] of this.texts) {
        const at = this.place(place);
        text.setAttribute("x", at[0] + dx);
        text.setAttribute("y", at[1] + dy);
        text.style.display = this.inside(at) ? "" : "none";
      }
      this.drawTicks();
      this.changed();
    }

    drawTicks() {
      const { left, top, right, bottom, shown } = this, { x, y } = this.axes, found = [];
      const share = (axis, value) => ((axis.log ? Math.log10(value) : value) - axis.low) / (axis.high - axis.low);
      for (const value of ticks(x, shown.x0, shown.x1)) {
        const [at] = this.place([left + share(x, value) * this.width, bottom]);
        found.push(make("path", { d: `M${at} ${top}V${bottom}` }), make("text", { x: at, y: bottom + 14 }, short(value)));
      }
      for (const value of ticks(y, shown.y0, shown.y1)) {
        const [, at] = this.place([left, bottom - share(y, value) * this.height]);
        found.push(make("path", { d: `M${left} ${at}H${right}` }), make("text", { class: "y", x: left - 5, y: at + 4 }, short(value)));
      }
      this.svg.querySelector(".ticks").replaceChildren(...found);
    }

    get isWhole() { return Object.keys(WHOLE).every((key) => this.shown[key] === WHOLE[key]); }

    all() { this.show(WHOLE); }

    scale(factor) {
      const { x0, x1, y0, y1 } = this.shown;
      const wx = Math.min((x1 - x0) * factor / 2, 0.5), wy = Math.min((y1 - y0) * factor / 2, 0.5);
      const cx = Math.min(Math.max((x0 + x1) / 2, wx), 1 - wx), cy = Math.min(Math.max((y0 + y1) / 2, wy), 1 - wy);
      this.show({ x0: cx - wx, x1: cx + wx, y0: cy - wy, y1: cy + wy });
    }

    shift(dx, dy) {
      const { x0, x1, y0, y1 } = this.shown;
      const x = Math.min(Math.max(dx * (x1 - x0), -x0), 1 - x1), y = Math.min(Math.max(dy * (y1 - y0), -y0), 1 - y1);
      this.show({ x0: x0 + x, x1: x1 + x, y0: y0 + y, y1: y1 + y });
    }
  }

  const buttons = (view, plot) => {
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
    button("+", "Zoom in", () => view.scale(0.6));
    button("−", "Zoom out", () => view.scale(1 / 0.6));
    const reset = button("↺", "Show all", () => { view.all(); plot.focus(); });
    reset.hidden = true;
    view.changed = () => { reset.hidden = view.isWhole; };
    plot.parentNode.querySelector(".head").append(tools);
  };

  const keys = (view, plot) => {
    const actions = {
      "+": () => view.scale(0.6), "=": () => view.scale(0.6), "-": () => view.scale(1 / 0.6), "0": () => view.all(),
      ArrowLeft: () => view.shift(-0.2, 0), ArrowRight: () => view.shift(0.2, 0),
      ArrowUp: () => view.shift(0, 0.2), ArrowDown: () => view.shift(0, -0.2),
    };
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", "Plot. Plus and minus zoom, arrow keys move, 0 shows all.");
    plot.addEventListener("keydown", (event) => {
      if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      if (event.key.startsWith("Arrow") && view.isWhole) return; // then the page scrolls
      event.preventDefault();
      actions[event.key]();
    });
  };

  const mouse = (view, svg) => { // a rectangle that is drawn is zoomed into
    let start = null, brush = null;
    const place = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [Math.min(Math.max(at.x, view.left), view.right), Math.min(Math.max(at.y, view.top), view.bottom)];
    };
    const end = () => { brush?.remove(); start = null; };
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
      const [x, y] = place(event), [fromX, fromY] = start;
      const box = { x: Math.min(x, fromX), y: Math.min(y, fromY), width: Math.abs(x - fromX), height: Math.abs(y - fromY) };
      for (const key in box) brush.setAttribute(key, box[key]);
    });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const from = start, to = place(event);
      end();
      if (Math.abs(to[0] - from[0]) < 8 || Math.abs(to[1] - from[1]) < 8) return;
      const [a, b] = [view.shares(from), view.shares(to)];
      view.show({ x0: Math.min(a[0], b[0]), x1: Math.max(a[0], b[0]), y0: Math.min(a[1], b[1]), y1: Math.max(a[1], b[1]) });
    });
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("dblclick", () => view.all());
  };

  const zooming = (svg, number) => {
    const view = new View(svg, number), plot = svg.parentNode;
    buttons(view, plot);
    keys(view, plot);
    mouse(view, svg);
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
