// The chart of calls over time: what a bar stands for, the way from bar to bar, and zoom.
(() => {
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  startTimeline();

  /** Hovering or focusing a bar shows its call. The keys move from bar to bar and zoom. */
  function startTimeline() {
    const lanes = $(".lanes");
    if (lanes === null) return;
    const scroll = $(".scroll");
    const tip = $(".tip");
    const axis = $(".axis");
    const endMs = Number(lanes.dataset.end);
    const MAX_ZOOM = 256;
    let zoom = 1;
    let sorted;
    // The one bar that the Tab key reaches.
    let reached = $(".bar");

    if (reached !== null) reached.tabIndex = 0;
    // The width of the axis is known once the page was laid out, which this must not cause.
    requestAnimationFrame(() => setTimeout(drawTicks));

    lanes.addEventListener("mouseover", (event) => showTip(event.target));
    lanes.addEventListener("mouseleave", () => showTip(document.activeElement));
    lanes.addEventListener("focusin", (event) => {
      if (!event.target.matches(".bar")) return;
      if (reached !== event.target) {
        reached.tabIndex = -1;
        reached = event.target;
        reached.tabIndex = 0;
      }
      event.target.scrollIntoView({ block: "nearest", inline: "nearest" });
      showTip(event.target);
    });
    lanes.addEventListener("focusout", () => showTip(null));
    scroll.addEventListener("scroll", () => showTip(document.activeElement));
    lanes.addEventListener("keydown", (event) => {
      const byStart = inOrder();
      const at = byStart.findIndex(({ bar }) => bar === event.target);
      if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = {
        ArrowRight: () => byStart[at + 1],
        ArrowLeft: () => byStart[at - 1],
        ArrowDown: () => inLane(at, 1),
        ArrowUp: () => inLane(at, -1),
        Home: () => byStart[0],
        End: () => byStart.at(-1),
      }[event.key];
      const change = { "+": 2, "=": 2, "-": 0.5, 0: 1 / zoom }[event.key];
      if (step !== undefined) step()?.bar.focus();
      else if (change !== undefined) zoomTo(zoom * change, event.target);
      else return;
      event.preventDefault();
    });
    for (const button of all("[data-zoom]")) {
      button.addEventListener("click", () => {
        zoomTo({ in: zoom * 2, out: zoom / 2, all: 1 }[button.dataset.zoom]);
      });
    }

    /** The bars by their start. Their places are asked for when a key needs them: that computes the style of all. */
    function inOrder() {
      if (sorted !== undefined) return sorted;
      const known = all(".bar")
        .map((bar) => ({ bar, x: number(bar, "--x"), lane: number(bar, "--lane") }))
        .sort((a, b) => a.x - b.x || a.lane - b.lane);
      // Those of many calls come piece by piece.
      if ($(".bars > noscript") === null) sorted = known;
      return known;
    }

    /** The bar in the next lane that has one, nearest in time. */
    function inLane(at, step) {
      const from = inOrder()[at];
      const others = inOrder().filter(({ lane }) => Math.sign(lane - from.lane) === step);
      const lane = others.reduce(
        (best, other) => (step * (other.lane - best) < 0 ? other.lane : best),
        step * Infinity,
      );
      return others
        .filter((other) => other.lane === lane)
        .sort((a, b) => Math.abs(a.x - from.x) - Math.abs(b.x - from.x))[0];
    }

    /** Keeps what is in the middle, or a bar, where it is. */
    function zoomTo(wanted, bar) {
      const before = zoom;
      zoom = Math.min(MAX_ZOOM, Math.max(1, wanted));
      const middle = (scroll.scrollLeft + scroll.clientWidth / 2) / before;
      // Bars have their places in percent, so that their style stays as it is.
      lanes.style.width = `${100 * zoom}%`;
      scroll.scrollLeft = middle * zoom - scroll.clientWidth / 2;
      bar?.scrollIntoView({ block: "nearest", inline: "center", behavior: "instant" });
      $(".zoom output").value = `${zoom}×`;
      drawTicks();
      showTip(document.activeElement);
    }

    function drawTicks() {
      for (const tick of axis.querySelectorAll(".tick")) tick.remove();
      const about = endMs / (zoom * Math.max(2, scroll.clientWidth / 110));
      const power = 10 ** Math.floor(Math.log10(about));
      const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= about);
      // The last one would run into the end of the axis.
      for (let ms = step; ms <= endMs - step; ms += step) {
        const tick = document.createElement("span");
        tick.className = "tick";
        tick.style.left = `${(100 * ms) / endMs}%`;
        tick.textContent = duration(ms, step);
        axis.append(tick);
      }
    }

    function showTip(bar) {
      tip.hidden = !(bar instanceof Element && bar.matches(".bar"));
      if (tip.hidden) return;
      // The tip is better than the browser's own, and appears at once.
      if (bar.title !== "") bar.setAttribute("aria-label", bar.title);
      bar.removeAttribute("title");
      tip.textContent = bar.getAttribute("aria-label");
      const chart = $(".chart").getBoundingClientRect();
      const at = bar.getBoundingClientRect();
      const left = Math.max(at.left, chart.left) - chart.left;
      tip.style.left = `${Math.max(4, Math.min(left, chart.width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${at.bottom - chart.top + 8}px`;
    }
  }

  function number(element, property) {
    return Number(getComputedStyle(element).getPropertyValue(property));
  }

  /** As exact as steps of that size need. */
  function duration(ms, step) {
    const [value, unit, size] =
      step >= 1_000 || ms >= 10_000 ? [ms / 1_000, "s", step / 1_000] : [ms, "ms", step];
    return `${value.toFixed(Math.max(0, -Math.floor(Math.log10(size) + 1e-9)))} ${unit}`;
  }
})();
