// Live updates of the console: it fetches changed parts as a page and puts them in place, so that only the server makes markup.
(() => {
  const root = document.documentElement;
  const $ = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const title = document.title.replace(/^\(\d+\) /, "");
  root.dataset.scripted = "";
  const narrow = matchMedia("(max-width: 62rem)");
  showPlace();
  showTimes(document);
  narrow.addEventListener("change", showPlace);
  startKeys();
  startNotices();
  startAgain();
  startRun();
  if (root.dataset.feed !== undefined) startFeed(root.dataset.feed);

  /** On a narrow screen, the current entry may be outside the visible part. */
  function showPlace() {
    if (narrow.matches) $(".places [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  /** Puts times into the reader's zone, with UTC beside them. Whole seconds are the same in every zone, hours and days are not. */
  function showTimes(within) {
    const two = (number) => String(number).padStart(2, "0");
    for (const each of within.querySelectorAll("time[datetime]")) {
      const at = new Date(each.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      if (at.getTimezoneOffset() === 0) {
        each.textContent = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
        continue;
      }
      const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
      each.textContent = `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} `;
      const utc = document.createElement("span");
      utc.className = "utc";
      utc.textContent = `${at.toISOString().slice(11, 19)} UTC`;
      each.append(utc);
    }
  }

  function startFeed(address) {
    let known;
    let source;
    let again;
    const open = () => {
      source = new EventSource(address);
      source.addEventListener("waiting", ({ data }) => {
        const { count, questions } = JSON.parse(data);
        showCount(count);
        const keys = new Set(questions.map(({ key }) => key));
        if (known !== undefined) {
          const added = questions.filter(({ key }) => !known.has(key));
          if (added.length > 0) announce(added);
          else if (known.size > keys.size) say("A question was answered.");
        }
        const isFirst = known === undefined;
        known = keys;
        // The page may be older than the questions that wait now.
        if (!isFirst || differs(keys)) refresh("waiting");
      });
      source.addEventListener("runs", ({ data }) => {
        const { runs } = JSON.parse(data);
        say(runs.length === 1 ? `A run has ended: ${runs[0].status}.` : `${runs.length} runs have ended.`);
        refresh("runs");
        // The page of the archived run replaces the page of the run in progress.
        if (runs.some(({ run_id: id }) => id === root.dataset.run)) refresh("live");
      });
      source.addEventListener("live", () => refresh("live"));
      source.addEventListener("error", () => {
        root.dataset.offline = "";
        // A browser gives up after an answer that is not a feed.
        if (source.readyState !== EventSource.CLOSED) return;
        clearTimeout(again);
        again = setTimeout(open, 5000 + Math.random() * 5000);
      });
      source.addEventListener("open", () => delete root.dataset.offline);
    };
    open();
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", ({ persisted }) => persisted && open());
  }

  function differs(keys) {
    const list = $("#questions");
    if (list === null) return false;
    const shown = all("#questions > [data-key]").map((each) => each.dataset.key);
    return shown.length !== keys.size || shown.some((key) => !keys.has(key));
  }

  function showCount(count) {
    document.title = count > 0 ? `(${count}) ${title}` : title;
    const badge = $("#waiting");
    if (badge === null) return;
    badge.hidden = count === 0;
    badge.firstElementChild.textContent = count;
  }

  function say(text) {
    const said = $("#said");
    if (said !== null) said.textContent = text;
  }

  function announce(questions) {
    const text =
      questions.length === 1
        ? `A program asks about ${questions[0].tool}`
        : `${questions.length} questions wait for you`;
    say(text);
    if (!("Notification" in window) || Notification.permission !== "granted" || !document.hidden) return;
    const shown = new Notification("ptc", { body: text, tag: "ptc-waiting" });
    shown.addEventListener("click", () => {
      focus();
      location.assign(`${root.dataset.feed.replace(/feed.*$/, "inbox")}`);
    });
  }

  /** Parts to fetch again, and whether a fetch is in progress. */
  const due = new Set();
  let isFetching = false;
  let isPlanned = false;

  function refresh(kind) {
    if (all(`[data-live~="${kind}"]`).length === 0) return;
    due.add(kind);
    // A constant stream of events must not postpone it for ever.
    planFetch(150);
  }

  function planFetch(afterMs) {
    if (isPlanned) return;
    isPlanned = true;
    setTimeout(fetchDue, afterMs);
  }

  async function fetchDue() {
    isPlanned = false;
    if (isFetching || due.size === 0) return;
    isFetching = true;
    const kinds = [...due];
    due.clear();
    try {
      const response = await fetch(location.href.split("#")[0], { headers: { Accept: "text/html" } });
      if (!response.ok || response.redirected) return;
      // The CSS rules of that page are allowed only there, and no part that is put in place here needs them.
      const text = (await response.text()).replace(/<style>[^<]*<\/style>/, "");
      const next = new DOMParser().parseFromString(text, "text/html");
      showTimes(next);
      if (root.dataset.run !== next.documentElement.dataset.run) return location.reload();
      const selector = kinds.map((kind) => `[data-live~="${kind}"]`).join();
      const fresh = [...next.querySelectorAll(selector)];
      all(selector).forEach((part, index) => {
        const other = fresh[index];
        if (other === undefined) return;
        if (part.dataset.keyed === undefined) replaceAll(part, other);
        else mergeKeyed(part, other);
      });
    } catch {
      // The next event tries again.
    } finally {
      isFetching = false;
      if (due.size > 0) planFetch(500);
    }
  }

  /** Puts new content in place, unless somebody is using the old. It does not touch unchanged content. */
  function replaceAll(part, other) {
    if (part.innerHTML === other.innerHTML) return;
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const address = focused?.getAttribute("href");
    const [tail, place] = [part.querySelector("[data-tail]"), placeOf(part)];
    part.replaceChildren(...other.childNodes);
    const fresh = part.querySelector("[data-tail]");
    if (fresh !== null) fresh.scrollTop = place ?? fresh.scrollHeight;
    if (tail !== null && tail === focused) fresh?.focus({ preventScroll: true });
    if (address) part.querySelector(`[href="${CSS.escape(address)}"]`)?.focus();
  }

  /** The scroll position in a growing text; nothing if the reader follows its end. */
  function placeOf(part) {
    const tail = part.querySelector("[data-tail]");
    if (tail === null || tail.scrollHeight - tail.clientHeight - tail.scrollTop < 24) return undefined;
    return tail.scrollTop;
  }

  /** Adds and removes whole items. It does not touch the others: somebody may be typing in one. */
  function mergeKeyed(part, other) {
    const wanted = [...other.children];
    const keys = new Set(wanted.map((each) => each.dataset.key));
    const had = part.querySelector(":scope > [data-key]:focus-within");
    for (const each of [...part.children]) {
      if (each.dataset.key !== undefined && keys.has(each.dataset.key)) continue;
      const next = each.nextElementSibling ?? each.previousElementSibling;
      each.remove();
      if (each === had) next?.focus?.();
    }
    const known = new Set([...part.children].map((each) => each.dataset.key));
    for (const each of wanted)
      if (each.dataset.key === undefined || !known.has(each.dataset.key)) part.append(each);
  }

  /** `j` and `k` go from question to question; `a` and `d` answer the one with the focus. */
  function startKeys() {
    document.addEventListener("keydown", (event) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (target.matches("input:not([type=radio], [type=checkbox]), textarea, select")) return;
      const questions = all(".question");
      if (questions.length === 0) return;
      const at = questions.findIndex((each) => each.contains(document.activeElement));
      if (key === "j" || key === "k") {
        const next = at < 0 ? 0 : Math.min(questions.length - 1, Math.max(0, at + (key === "j" ? 1 : -1)));
        questions[next].focus();
        questions[next].scrollIntoView({ block: "start" });
      } else if ((key === "a" || key === "d") && at >= 0) {
        questions[at].querySelector(`[data-answer="${key === "a" ? "approve" : "deny"}"]`)?.click();
      } else return;
      event.preventDefault();
    });
    if (location.hash.startsWith("#q-")) document.getElementById(location.hash.slice(1))?.focus();
  }

  function startNotices() {
    const button = $("#notify");
    if (button === null || !("Notification" in window) || Notification.permission !== "default") return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await Notification.requestPermission();
      button.hidden = true;
    });
  }

  /** Bars of calls in progress grow between events. */
  function startRun() {
    if (root.dataset.run === undefined) return;
    for (const tail of all("[data-tail]")) tail.scrollTop = tail.scrollHeight;
    setInterval(() => {
      if (!document.hidden && $(".status.running") !== null) refresh("live");
    }, 2000);
  }

  /** Fetches parts with work in progress again. */
  function startAgain() {
    const going = $("[data-again]");
    if (going !== null) setTimeout(() => location.reload(), Number(going.dataset.again));
  }
})();
