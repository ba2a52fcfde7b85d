// Links from counts to the runs that they count: the list shows these and hides the others.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const rows = [...document.querySelectorAll("[data-in]")];
  const shown = $("#runs-shown");
  const showAll = $("#runs-all");
  if (shown === null || showAll === null) return;
  const whole = shown.textContent;
  addEventListener("click", ({ target }) => {
    const link = target.closest?.("[data-runs]");
    if (link) select(link.dataset.runs, link.dataset.name);
  });
  showAll.addEventListener("click", () => select(undefined, ""));

  function select(selection, name) {
    let count = 0;
    for (const row of rows) {
      row.hidden = selection !== undefined && !row.dataset.in.split(" ").includes(selection);
      if (!row.hidden) count++;
    }
    shown.textContent = selection === undefined ? whole : `${count}: ${name}`;
    showAll.hidden = selection === undefined;
    $("#runs-none").hidden = count > 0;
  }
})();
