// The list of calls by keyboard, and links into it.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  document.documentElement.dataset.scripted = "";
  startCalls();
  startHelp();

  /** The keys move from call to call, and unfold and fold them. */
  function startCalls() {
    const calls = all(".call");
    $(".calls")?.addEventListener("keydown", (event) => {
      if (!event.target.matches(".call > summary") || event.ctrlKey || event.metaKey || event.altKey) return;
      const call = event.target.parentElement;
      const seen = calls.filter((each) => each.checkVisibility());
      const at = seen.indexOf(call);
      const go = { ArrowDown: seen[at + 1], ArrowUp: seen[at - 1], Home: seen[0], End: seen.at(-1) };
      if (Object.hasOwn(go, event.key)) go[event.key]?.firstElementChild.focus();
      else if (event.key === "ArrowRight") call.open = true;
      else if (event.key === "ArrowLeft") call.open = false;
      else return;
      event.preventDefault();
    });
    const unfold = $("#unfold");
    let unfolding = 0;
    unfold?.addEventListener("click", async () => {
      const open = unfold.textContent === "Unfold all";
      unfold.textContent = open ? "Fold all" : "Unfold all";
      const turn = ++unfolding;
      for (const [index, call] of calls.entries()) {
        // What the browser does with some of them ends before the next ones.
        if (index % 40 === 39) await new Promise(requestAnimationFrame);
        if (turn !== unfolding) return;
        call.open = open;
      }
    });
    addEventListener("click", ({ target }) => {
      const link = target instanceof Element ? target.closest('a[href^="#call-"]') : null;
      // A link to the current location causes no `hashchange` event.
      if (link?.hash === location.hash) openCall(addressed());
    });
    addEventListener("hashchange", () => openCall(addressed()));
    openCall(addressed());
  }

  function addressed() {
    return /^#call-\d+$/.test(location.hash) ? $(location.hash) : null;
  }

  function openCall(call) {
    if (call === null) return;
    call.open = true;
    call.scrollIntoView({ block: "center" });
    call.firstElementChild.focus({ preventScroll: true });
  }

  function startHelp() {
    const help = $("#help");
    document.addEventListener("keydown", (event) => {
      const typing = event.target.matches("input:not([type=radio], [type=checkbox])");
      if (event.key !== "?" || typing || help === null) return;
      help.togglePopover();
      event.preventDefault();
    });
  }
})();
