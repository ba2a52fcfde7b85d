// The choice of colours, which stays from page to page.
(() => {
  const inputs = [...document.querySelectorAll('[name="theme"]')];
  const show = () => {
    document.documentElement.dataset.theme = inputs.find(({ checked }) => checked)?.id.slice(6) ?? "auto";
  };
  const chosen = inputs.find(({ id }) => id === readStored());
  if (chosen !== undefined) chosen.checked = true;
  show();
  // A browser that comes back to a page may have its own mind about what is checked.
  addEventListener("pageshow", show);
  for (const each of inputs)
    each.addEventListener("change", () => {
      show();
      try {
        localStorage.setItem("ptc-theme", each.id);
      } catch {
        // Without storage the choice lasts for the page.
      }
    });

  function readStored() {
    try {
      return localStorage.getItem("ptc-theme");
    } catch {
      return null;
    }
  }
})();
