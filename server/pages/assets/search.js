// Search in what the page shows. Calls that do not match are hidden; everywhere, matches are marked.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  /** How long one piece of a search takes. */
  const PIECE_MS = 8;
  /** Of batches of calls, above which a search waits until nothing is typed, and shows what it found in pieces. */
  const MANY_BATCHES = 8;
  const MAX_MARKS = 400;
  const MAX_CALL_MARKS = 20;
  startSearch();

  function startSearch() {
    const input = $("#find");
    const found = $("#found");
    const texts = new Map();
    const list = $(".calls");
    /** All of them, once somebody searches. */
    let calls = [];
    const many = all(".batch").length > MANY_BATCHES;
    let hits = [];
    /** What the hits are of, while the input may say what is next. */
    let sought = "";
    let now = -1;
    let turn = 0;
    let typed;
    if (input === null) return;
    input.addEventListener("input", () => {
      clearTimeout(typed);
      if (many) typed = setTimeout(update, 120);
      else update();
    });
    $("#failed-only")?.addEventListener("change", update);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") clear();
      else if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
      else return;
      event.preventDefault();
    });
    for (const chip of all("[data-find]")) {
      chip.addEventListener("click", () => {
        const chosen = chip.dataset.find;
        input.value = input.value === chosen ? "" : chosen;
        update();
      });
    }

    document.addEventListener("keydown", (event) => {
      const typing = event.target.matches("input:not([type=radio], [type=checkbox])");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      input.focus();
      input.select();
      event.preventDefault();
    });

    // What a call unfolds to is on the page from then on, and is marked as the rest is.
    list?.addEventListener(
      "toggle",
      ({ target }) => {
        const hit = hits.find(({ call }) => call === target);
        if (hit === undefined || !target.open) return;
        hit.ranges = rangesIn(target, sought, MAX_CALL_MARKS);
        mark();
      },
      true,
    );

    function clear() {
      input.value = "";
      update();
    }

    /** Searches, in pieces between which the browser does other things. A search that begins meanwhile ends this one. */
    async function update() {
      clearTimeout(typed);
      const own = ++turn;
      const wanted = input.value.trim().toLowerCase();
      const failedOnly = $("#failed-only")?.checked ?? false;
      calls = await pageCalls.all();
      if (own !== turn) return;
      const bars = all(".bar");
      let shown = 0;
      /** What is in each batch, with what is to be seen of it. */
      const inBatches = new Map(all(".batch").map((batch) => [batch, []]));
      let until = performance.now() + PIECE_MS;
      for (const [index, call] of calls.entries()) {
        if (performance.now() > until) {
          await new Promise((resolve) => setTimeout(resolve));
          if (own !== turn) return;
          until = performance.now() + PIECE_MS;
        }
        const isFound = wanted === "" || textOf(call).includes(wanted);
        const seen = isFound && (!failedOnly || call.classList.contains("failed"));
        if (seen) shown++;
        inBatches.get(call.parentElement).push({ call, bar: bars[index], seen });
      }
      // What goes goes from the end on, and what comes comes from the beginning on: nothing is drawn on its way out of sight.
      const grows = ([, each]) => each.some(({ call, seen }) => seen && call.hidden);
      const [growing, others] = [[...inBatches].filter(grows), [...inBatches].filter((each) => !grows(each))];
      for (const [batch, each] of [...others.reverse(), ...growing]) {
        const changing = each.filter(({ call, seen }) => call.hidden === seen);
        if (changing.length === 0) continue;
        for (const { call, bar, seen } of changing) {
          call.hidden = !seen;
          bar.classList.toggle("dim", !seen);
        }
        const left = each.filter(({ seen }) => seen).length;
        batch.hidden = left === 0;
        // One that is out of sight is as high as what is left of it.
        batch.style.containIntrinsicHeight = left === each.length ? "" : `${37 * left}px`;
        if (!many) continue;
        // What comes and goes is drawn before there is more.
        await new Promise(requestAnimationFrame);
        await new Promise((resolve) => setTimeout(resolve));
        if (own !== turn) return;
      }
      if (list !== null) list.hidden = shown === 0;
      const nothing = $(".nothing");
      if (nothing !== null) nothing.hidden = shown > 0;
      for (const chip of all("[data-find]")) {
        chip.setAttribute("aria-pressed", String(chip.dataset.find.toLowerCase() === wanted));
      }
      sought = wanted;
      hits = wanted === "" ? [] : findHits(wanted);
      now = -1;
      mark();
      found.value = wanted === "" ? "" : describe(shown);
    }

    function describe(shown) {
      const elsewhere = hits.filter(({ call }) => call === undefined).length;
      const inCalls = calls.length > 0 ? `${shown} of ${calls.length} calls` : "";
      return [inCalls, elsewhere > 0 || inCalls === "" ? `${elsewhere} elsewhere` : ""]
        .filter(Boolean)
        .join(", ");
    }

    /** In the order in which they are on the page. A call is one hit, however often it matches. */
    function findHits(wanted) {
      let left = MAX_MARKS;
      const inCalls = calls
        .filter((call) => !call.hidden)
        .map((call) => {
          const ranges = left > 0 ? rangesIn(call, wanted, Math.min(MAX_CALL_MARKS, left)) : [];
          left -= ranges.length;
          return { call, ranges };
        });
      const rest = (selector) =>
        all(selector).flatMap((element) =>
          rangesIn(element, wanted, 1_000).map((range) => ({ ranges: [range] })),
        );
      return [
        ...rest("#failure pre"),
        ...inCalls,
        ...rest(".code .line"),
        ...rest("#console pre, #values pre"),
      ];
    }

    function go(step) {
      if (hits.length === 0) return;
      now = now < 0 && step < 0 ? hits.length - 1 : (now + step + hits.length) % hits.length;
      const hit = hits[now];
      const { call } = hit;
      if (call !== undefined && !matchesSummary(call)) pageCalls.unfold(call);
      // A call beyond those that are marked is marked when somebody goes there.
      if (call !== undefined) hit.ranges = rangesIn(call, sought, MAX_CALL_MARKS);
      const target = call ?? hit.ranges[0].startContainer.parentElement;
      target.scrollIntoView({ block: "center" });
      mark();
      found.value = `${now + 1} of ${hits.length}`;
    }

    function matchesSummary(call) {
      return call.firstElementChild.textContent.toLowerCase().includes(sought);
    }

    function mark() {
      if (CSS.highlights === undefined) return;
      CSS.highlights.set("found", new Highlight(...hits.flatMap(({ ranges }) => ranges)));
      CSS.highlights.set("found-now", new Highlight(...(hits[now]?.ranges ?? [])));
    }

    function textOf(call) {
      if (!texts.has(call)) texts.set(call, pageCalls.textOf(call).toLowerCase());
      return texts.get(call);
    }
  }

  /** Where a text is in an element, across the pieces that it is in. */
  function rangesIn(element, wanted, most) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let text = "";
    while (walker.nextNode()) {
      nodes.push({ node: walker.currentNode, from: text.length });
      text += walker.currentNode.data;
    }
    const lower = text.toLowerCase();
    // A few characters change their length with their case. The places are then unknown.
    if (lower.length !== text.length) return [];
    const place = (at) => {
      const { node, from } = nodes.findLast((each) => each.from <= at);
      return [node, at - from];
    };
    const ranges = [];
    for (
      let at = lower.indexOf(wanted);
      at >= 0 && ranges.length < most;
      at = lower.indexOf(wanted, at + wanted.length)
    ) {
      const range = new StaticRange({
        startContainer: place(at)[0],
        startOffset: place(at)[1],
        endContainer: place(at + wanted.length - 1)[0],
        endOffset: place(at + wanted.length - 1)[1] + 1,
      });
      ranges.push(range);
    }
    return ranges;
  }
})();
