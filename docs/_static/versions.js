// The switch between versions of the site. Every version is a folder beside the others, and
// versions.json, above them, lists them; a site that stands alone has no such file and no switch.
(async () => {
  const holder = document.querySelector(".version-switch");
  if (!holder || !location.protocol.startsWith("http")) return;
  const here = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const top = new URL("../", here);
  const answer = await fetch(new URL("versions.json", top)).catch(() => null);
  if (!answer || !answer.ok) return;
  const versions = await answer.json();
  const select = holder.querySelector("select");
  for (const { folder, label } of versions) {
    const option = new Option(label, folder);
    option.selected = new URL(folder + "/", top).href === here.href;
    select.add(option);
  }
  select.addEventListener("change", async () => {
    const root = new URL(select.value + "/", top).href;
    const page = root + location.href.slice(here.href.length);
    const exists = await fetch(page, { method: "HEAD" }).catch(() => null);
    location.href = exists && exists.ok ? page : root; // a page may be new
  });
  holder.hidden = versions.length < 2;
})();
