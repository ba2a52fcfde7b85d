// The list of calls: batches that come piece by piece, the way from call to call by keyboard, and links into it.
// biome-ignore lint/correctness/noUnusedVariables: search.js, which comes after it in the one script of a page, uses it.
const pageCalls = (() => {
  const $ = (selector) => document.querySelector(selector);
  /** How long one piece of work takes before the browser may do other things. */
  const PIECE_MS = 8;
  const list = $(".calls");
  const batches = [...document.querySelectorAll(".batch")];
  const batchSize = batches[0]?.childElementCount ?? 0;
  /** What calls unfold to, until somebody unfolds them. */
  const bodies = new WeakMap();
  document.documentElement.dataset.scripted = "";
  if (list !== null) startCalls();
  startHelp();
  return { all, textOf, unfold };

  /** Calls and bars that are still markup, which come in this order. */
  function kept() {
    return document.querySelectorAll(".bars > noscript, .batch > noscript");
  }

  /** Calls that are on the page by now. */
  function present() {
    return [...document.querySelectorAll(".call")];
  }

  /** All calls, once those have come that are still markup. */
  async function all() {
    for (const part of kept()) {
      fill(part);
      await pause();
    }
    return present();
  }

  /** Puts calls or bars in place of their markup. It is the page's own, which a browser with a script keeps as text. */
  function fill(part) {
    if (!part.isConnected) return;
    const template = document.createElement("template");
    template.innerHTML = part.textContent;
    for (const call of template.content.querySelectorAll(".call")) {
      bodies.set(call, call.lastElementChild);
      call.lastElementChild.remove();
    }
    part.parentElement.classList.remove("later");
    part.replaceWith(template.content);
  }

  function unfold(call) {
    complete(call);
    call.open = true;
  }

  function complete(call) {
    const body = bodies.get(call);
    if (body === undefined) return;
    bodies.delete(call);
    call.append(body);
  }

  /** All that a call says, unfolded or not. */
  function textOf(call) {
    return call.textContent + (bodies.get(call)?.textContent ?? "");
  }

  function pause() {
    return globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));
  }

  /** Lets them come, whenever there is nothing else to do. */
  async function fillIdly() {
    const idle = globalThis.requestIdleCallback ?? setTimeout;
    for (const part of kept()) {
      await new Promise((resolve) => idle(() => resolve()));
      fill(part);
    }
  }

  /** The keys move from call to call, and unfold and fold them. */
  function startCalls() {
    // Of any way to unfold a call, such as a click.
    list.addEventListener("toggle", ({ target }) => target.matches(".call[open]") && complete(target), true);
    list.addEventListener("keydown", (event) => {
      if (!event.target.matches(".call > summary") || event.ctrlKey || event.metaKey || event.altKey) return;
      const call = event.target.parentElement;
      const calls = present();
      const at = calls.indexOf(call);
      const isSeen = (each) => each.checkVisibility();
      const go = {
        ArrowDown: () => calls.slice(at + 1).find(isSeen),
        ArrowUp: () => calls.slice(0, at).findLast(isSeen),
        Home: () => calls.find(isSeen),
        End: () => calls.findLast(isSeen),
      };
      if (Object.hasOwn(go, event.key)) go[event.key]()?.firstElementChild.focus();
      else if (event.key === "ArrowRight") unfold(call);
      else if (event.key === "ArrowLeft") call.open = false;
      else return;
      event.preventDefault();
    });
    const button = $("#unfold");
    let unfolding = 0;
    button.addEventListener("click", async () => {
      const open = button.textContent === "Unfold all";
      button.textContent = open ? "Fold all" : "Unfold all";
      const turn = ++unfolding;
      let until = performance.now() + PIECE_MS;
      for (const call of await all()) {
        if (performance.now() > until) {
          // What the browser does with some of them ends before the next ones.
          await new Promise(requestAnimationFrame);
          await pause();
          until = performance.now() + PIECE_MS;
        }
        if (turn !== unfolding) return;
        if (open) unfold(call);
        else call.open = false;
      }
    });
    addEventListener("click", ({ target }) => {
      const link = target instanceof Element ? target.closest('a[href^="#call-"]') : null;
      // A link to the current location causes no `hashchange` event.
      if (link?.hash === location.hash) openAddressed();
    });
    addEventListener("hashchange", openAddressed);
    openAddressed();
    void fillIdly();
  }

  function openAddressed() {
    const [, number] = /^#call-(\d+)$/.exec(location.hash) ?? [];
    if (number === undefined) return;
    for (const part of batches[Math.floor((number - 1) / batchSize)]?.querySelectorAll("noscript") ?? [])
      fill(part);
    const call = $(location.hash);
    if (call === null) return;
    unfold(call);
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
