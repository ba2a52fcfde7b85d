// Search in what the page shows. Calls that do not match are hidden; everywhere, matches are marked.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  startSearch();

  function startSearch() {
    const input = $("#find");
    const found = $("#found");
    const texts = new Map();
    const calls = all(".call");
    const bars = all(".bar");
    let hits = [];
    let now = -1;
    if (input === null) return;
    input.addEventListener("input", update);
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

    function clear() {
      input.value = "";
      update();
    }

    function update() {
      const wanted = input.value.trim().toLowerCase();
      const failedOnly = $("#failed-only")?.checked ?? false;
      let shown = 0;
      calls.forEach((call, index) => {
        const matches = wanted === "" || textOf(call).includes(wanted);
        call.hidden = !matches;
        const seen = matches && (!failedOnly || call.classList.contains("failed"));
        bars[index]?.classList.toggle("dim", !seen);
        if (seen) shown++;
      });
      const nothing = $(".nothing");
      if (nothing !== null) nothing.hidden = shown > 0;
      for (const chip of all("[data-find]")) {
        chip.setAttribute("aria-pressed", String(chip.dataset.find.toLowerCase() === wanted));
      }
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
      const inCalls = calls
        .filter((call) => !call.hidden)
        .map((call) => ({ call, ranges: rangesIn(call, wanted, 20) }));
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
      const { call, ranges } = hits[now];
      const target = call ?? ranges[0].startContainer.parentElement;
      if (call !== undefined && !matchesSummary(call)) call.open = true;
      target.scrollIntoView({ block: "center" });
      mark();
      found.value = `${now + 1} of ${hits.length}`;
    }

    function matchesSummary(call) {
      return call.firstElementChild.textContent.toLowerCase().includes(input.value.trim().toLowerCase());
    }

    function mark() {
      if (CSS.highlights === undefined) return;
      CSS.highlights.set("found", new Highlight(...hits.flatMap(({ ranges }) => ranges)));
      CSS.highlights.set("found-now", new Highlight(...(hits[now]?.ranges ?? [])));
    }

    function textOf(call) {
      if (!texts.has(call)) texts.set(call, call.textContent.toLowerCase());
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
