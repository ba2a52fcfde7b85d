/** The questions that wait for a person, each with everything that is known about the call, and how to answer it. */

import type { ArchiveStore } from "../../archive/archive-store.ts";
import { readJson } from "../../base/json.ts";
import { formatBytes, formatDuration } from "../../base/quantities.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import {
  type ApprovalScope,
  approvableCalls,
  DEFAULT_AT_MOST,
  keepableCalls,
  MAX_AT_MOST,
  parseScope,
  planAnswer,
} from "../../broker/approvals/approval-scope.ts";
import {
  describePlanned,
  isPlanQuestion,
  renderApprovalArguments,
  renderClaims,
  renderPlanNotes,
  summarizePlan,
  WHOLE,
} from "../../broker/approvals/approval-text.ts";
import {
  approvesAny,
  countsProven,
  NOT_PROVEN,
  type Proof,
  type RequiredProof,
} from "../../broker/approvals/approvals.ts";
import { isApprovable, type Plan } from "../../broker/approvals/plan.ts";
import { diffLines } from "../../configuration/diff-lines.ts";
import { isByReviewer } from "../../configuration/interceptor-settings.ts";
import type { ListedQuestion, PendingApproval } from "../../execution/pending/pending-approvals.ts";
import { PasskeyError } from "../../logins/passkeys.ts";
import { callingLines } from "../../protocol/calling-lines.ts";
import { canonicalJson, digestOf } from "../../protocol/canonical-json.ts";
import { describePrincipal } from "../../protocol/run-context.ts";
import { html, type Markup, renderSection, renderText, renderTime } from "../../server/pages/page.ts";
import { type LineRole, renderLines } from "../../server/pages/run-page.ts";
import { shortToolName, showText, splitLines } from "../../server/reports/run-overview.ts";
import { type Answers, type Asked, formOf, RefusedError, type Routes } from "../answers.ts";
import { questionKey } from "../feed.ts";
import { ceremonyAnswerIn, PASSKEY_SAID, usesPasskey } from "../passkeys.ts";
import { BASE, type ConsolePage, type Frame, renderForm, renderHeading, renderNothing } from "../shell.ts";
import type { Viewer } from "../viewer.ts";

/** A question, with further facts that help to answer it. */
interface ShownQuestion {
  readonly pending: PendingApproval;
  /** The arguments of the newest call of its tool that somebody approved; `undefined` where none is known. */
  readonly before:
    | { readonly runId: string; readonly arguments: unknown; readonly approver?: string | undefined }
    | undefined;
}

interface InboxPage {
  questions: readonly ShownQuestion[];
  /** Questions shown only on their own pages, because they are long, or because there are many. */
  further: readonly ListedQuestion[];
  /** Answered questions whose runs have not continued yet. */
  answered: readonly ListedQuestion[];
  frame: Frame;
  nowMs: number;
  approves: boolean;
  /** Whether an approval needs a passkey. */
  needsPasskey: boolean;
  /** Why nothing can be approved here; it can be denied. */
  whyNoApproval: string | undefined;
  /** The outcome of the last answer. */
  notice: string | undefined;
  /** Whether the request is for one question. */
  isOne: boolean;
}

const GONE = "Nothing waits under this ticket any more: it was answered elsewhere, or has expired.";

function renderInbox(page: InboxPage): ConsolePage {
  const { questions, answered, notice, isOne } = page;
  const rest = isOne ? html`<p><a href="${BASE}/inbox">Everything that waits for you</a></p>` : undefined;
  const items = [
    ...questions.map((question, index) => renderQuestion(question, index, page)),
    ...page.further.map(renderFurther),
  ];
  const list =
    items.length === 0
      ? renderNothing(
          isOne ? GONE : "Nothing waits for you. A question appears here as soon as a program asks one.",
        )
      : html`${items}`;
  const said = notice === undefined ? undefined : html`<p class="notice" role="status">${notice}</p>`;
  const after =
    answered.length === 0
      ? undefined
      : renderSection(
          "answered",
          "Answered, not gone on yet",
          html`<ul class="plain">${answered.map(({ ticket, request }) => html`<li data-key="${ticket}"><code>${shortToolName(request.tool)}</code> <span class="soft">ticket ${ticket}; its client, or <code>ptc run --ticket ${ticket}</code>, continues the run</span></li>`)}</ul>`,
        );
  return {
    title: "Inbox",
    place: "inbox",
    header: renderHeading(
      "Inbox",
      html`Calls that wait for your answer. <span class="scripted">Keys: <kbd>j</kbd> <kbd>k</kbd> go from one to the next, <kbd>a</kbd> approves, <kbd>d</kbd> denies.</span>`,
    ),
    main: html`${said}${rest}
<p class="scripted notify"><button type="button" id="notify" hidden>Notify me of questions</button></p>
<div id="questions" data-live="waiting" data-keyed>${list}</div>
<div data-live="waiting" id="gone">${after}</div>`,
  };
}

function renderFurther(listed: ListedQuestion): Markup {
  const { ticket, request, fileName, askedAt, bytes } = listed;
  return html`<article class="question" data-key="${questionKey(listed)}" id="q-${ticket}" tabindex="-1" aria-labelledby="q-${ticket}-title">
<header><h2 id="q-${ticket}-title"><code>${unmistakableLine(request.tool)}</code></h2>
<p class="where"><span>${fileName}</span><span>asked ${renderTime(askedAt)}</span><span>${formatBytes(bytes)}</span></p></header>
<p><a href="${BASE}/inbox/${encodeURIComponent(ticket)}">Read and answer it on a page of its own</a></p>
</article>`;
}

const CONTEXT_LINES = 6;

function renderQuestion({ pending, before }: ShownQuestion, index: number, page: InboxPage): Markup {
  const { ticket, owner, request, askedAt, expiresAt, isLive, fileName, source, client } = pending;
  const { nowMs, frame } = page;
  const { tool, reason, origins = [], claims, plan, differs } = request;
  const until = isLive
    ? "its run waits just now"
    : `suspended; expires in ${formatDuration(Math.max(0, expiresAt - nowMs))}`;
  const { viewer } = frame.session;
  const by = owner.principal === viewer.principal ? viewer.name : unmistakableLine(describePrincipal(owner));
  const said = renderClaims(claims);
  const text = renderApprovalArguments(request.arguments, WHOLE);
  const args = { text, bytes: Buffer.byteLength(text), cut: "" };
  const labels = origins.map((line) => html`<li>${unmistakableLine(line)}</li>`);
  return html`<article class="question" data-key="${questionKey(pending)}" id="q-${ticket}" tabindex="-1" aria-labelledby="q-${ticket}-title">
<header><h2 id="q-${ticket}-title"><span class="unseen">Question ${index + 1}: </span><code>${unmistakableLine(tool)}</code></h2>
<p class="where"><span>${fileName}</span><span>asked ${renderTime(askedAt)}</span><span>${until}</span><span>by ${by}${client === undefined ? ` through ptc ${source}` : `, through what calls itself ${client}`}</span><span>run <code>${request.runId.slice(0, 8)}</code></span></p></header>
${differs === undefined ? undefined : html`<p class="reason"><b>It is not what was approved:</b> ${unmistakableLine(differs)}</p>`}
${reason === undefined ? undefined : html`<p class="reason"><b>Asked because</b> ${unmistakableLine(reason)}</p>`}
<div class="pair">
<div>${renderText("Arguments", args)}${before === undefined ? undefined : renderBefore(before, request.arguments)}</div>
<div>${renderAsking(pending)}</div>
</div>
${labels.length === 0 ? undefined : html`<div class="labels"><h3>Where its values come from</h3><ul>${labels}</ul></div>`}
${said === undefined ? undefined : html`<details class="fold"><summary>${said.heading}</summary>${renderText("Said by its server", showText(said.said.join("\n"), 10_000))}</details>`}
${plan === undefined || isPlanQuestion(plan) ? undefined : renderNotes(plan)}
${renderAnswers(pending, page)}
</article>`;
}

function renderNotes(plan: Plan): Markup {
  return html`<p class="soft">${renderPlanNotes(plan).join(" ")}</p>`;
}

/** The calls of a plan, each with a box that says whether it is approved. */
function renderPlan(ticket: string, plan: Plan): Markup {
  const keepable = keepableCalls(plan);
  const items = plan.calls.map((call, index) => {
    const number = index + 1;
    const text = renderApprovalArguments(call.arguments, WHOLE);
    const name = html`<code>${unmistakableLine(call.tool)}</code>`;
    const choice = isApprovable(call)
      ? html`<label class="choice"><input type="checkbox" name="call" value="${number}" checked> ${name}</label>`
      : html`<span class="soft">${name}</span>`;
    const keep = keepable.includes(number)
      ? html` <label class="choice"><input type="checkbox" name="keep" value="${number}"> ask again once its values are known</label>`
      : undefined;
    const notes = describePlanned(call).map((line) => html`<li>${line}</li>`);
    const args = { text, bytes: Buffer.byteLength(text), cut: "" };
    return html`<li id="q-${ticket}-call-${number}">${choice}${keep}${renderText(`Arguments of call ${number}`, args)}${notes.length === 0 ? undefined : html`<ul>${notes}</ul>`}</li>`;
  });
  return html`<h3>The program will make ${summarizePlan(plan)}</h3><ol class="planned">${items}</ol>${renderNotes(plan)}`;
}

/** The arguments beside those of the newest approved call. */
function renderBefore(
  { runId, arguments: earlier, approver }: NonNullable<ShownQuestion["before"]>,
  now: unknown,
): Markup {
  // The order of members says nothing.
  const lined = (args: unknown) =>
    renderApprovalArguments(args === undefined ? undefined : readJson(canonicalJson(args)), WHOLE).split(
      "\n",
    );
  const lines = diffLines(lined(earlier), lined(now));
  const run = html`<a href="${BASE}/runs/${encodeURIComponent(runId)}"><code>${runId.slice(0, 8)}</code></a>`;
  const by = approver === undefined ? "" : ` by ${unmistakableLine(approver)}`;
  if (lines.length === 0)
    return html`<p class="soft">The same arguments as in the last call that was approved${by}, in run ${run}.</p>`;
  return html`<figure class="text"><figcaption><span>Beside the last call that was approved${by}, in run ${run}</span></figcaption>${renderDiff(lines, "Differences of the arguments")}</figure>`;
}

/** Lines that begin with `+ `, `- ` or two spaces. */
export function renderDiff(lines: readonly string[], label: string): Markup {
  const shown = lines.map((line) => {
    const kind = line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "same";
    return html`<span class="${kind}">${line}
</span>`;
  });
  return html`<pre class="diff" tabindex="0" aria-label="${label}">${shown}</pre>`;
}

/** The program around the call. Which line makes it is known by the name of the function; several may. */
function renderAsking({ ticket, code, language = "typescript", request, fileName }: PendingApproval): Markup {
  if (code === undefined)
    return html`<p class="soft">A call from a shell or a client, without a program.</p>`;
  const lines = splitLines(code);
  const calling = callingLines(lines, request.tool);
  const roles = new Map(calling.map((line): [number, LineRole] => [line, "asks"]));
  const rendered = renderLines(lines, language, roles, `q-${ticket}-L`);
  const [first] = calling;
  const about =
    first === undefined
      ? "no line names the tool: the program computes its name, or calls it through a function of its own"
      : calling.length === 1
        ? `line ${first} makes the call`
        : `lines ${calling.join(", ")} may make the call`;
  const from = Math.max(0, (first ?? 1) - 1 - CONTEXT_LINES);
  const around = rendered.slice(from, (first ?? 1) + CONTEXT_LINES);
  const whole =
    around.length === rendered.length
      ? undefined
      : html`<details class="fold"><summary>The whole program, ${lines.length} lines</summary><pre class="code" tabindex="0" aria-label="The whole program">${renderLines(lines, language, roles, `q-${ticket}-W`)}</pre></details>`;
  return html`<figure class="text"><figcaption><span>${fileName}</span><span class="size">${about}</span></figcaption><pre class="code" tabindex="0" aria-label="The program around the call">${around}</pre></figure>${whole}`;
}

function renderAnswers(
  { ticket, digest, request }: PendingApproval,
  { frame, approves, needsPasskey, whyNoApproval }: InboxPage,
): Markup {
  if (!approves) return html`<p class="soft">You may not answer this here.</p>`;
  const action = `${BASE}/inbox/${encodeURIComponent(ticket)}`;
  // An answer counts for the question that was shown, and for no other.
  const shown = html`<input type="hidden" name="digest" value="${digest}">`;
  const deny = html`<button type="submit" name="decision" value="denied" class="danger" data-answer="deny">Deny</button>`;
  if (whyNoApproval !== undefined)
    return html`<div class="answers">${renderForm(action, frame, html`${shown}${deny}<p class="soft">${whyNoApproval}</p>`)}</div>`;
  const attributes = needsPasskey ? usesPasskey(`${action}/passkey`) : undefined;
  const said = needsPasskey ? PASSKEY_SAID : undefined;
  const { plan } = request;
  if (isPlanQuestion(plan)) {
    const approve = html`<button type="submit" name="decision" value="plan" class="primary" data-answer="approve">Approve the marked calls</button>`;
    const none = html`<button type="submit" name="decision" value="none" class="danger" data-answer="deny">Deny all</button>`;
    return html`<div class="answers">${renderForm(action, frame, html`${shown}${renderPlan(ticket, plan)}${approve}${none}${said}`, attributes)}</div>`;
  }
  const given = request.arguments;
  const names =
    typeof given === "object" && given !== null && !Array.isArray(given) ? Object.keys(given) : [];
  const patterns = names
    .slice(0, 20)
    .map(
      (name) =>
        html`<label><span>${unmistakableLine(name)} may be</span><input type="text" name="like" data-name="${name}" placeholder="as it is" autocomplete="off" spellcheck="false"><input type="hidden" name="likeName" value="${name}"></label>`,
    );
  return html`<div class="answers">
${renderForm(action, frame, html`${shown}<button type="submit" name="decision" value="once" class="primary" data-answer="approve">Approve this call</button>${deny}${said}`, attributes)}
<details class="alike"><summary>Approve alike, within bounds</summary>
${renderForm(
  action,
  frame,
  html`${shown}<fieldset><legend>Also further calls of this tool in this run</legend>
<label class="choice"><input type="radio" name="calls" value="like" checked> with the same arguments, but for these (<code>*</code> stands for anything)</label>
<div class="patterns">${patterns}</div>
<label class="choice"><input type="radio" name="calls" value="all"> with any arguments</label>
<label><span>At most</span><input type="number" name="atMost" min="1" max="${MAX_AT_MOST}" value="${DEFAULT_AT_MOST}" required> <span>calls, this one among them</span></label>
<button type="submit" name="decision" value="run">Approve these</button></fieldset>${said}`,
  attributes,
)}
</details></div>`;
}

const LOOKED_AT = 4;

/** The newest call of a tool that a person approved, among the newest runs of a principal that called it. */
async function findApproved(
  archive: Pick<ArchiveStore, "list" | "read">,
  tool: string,
  principal: string,
): Promise<ShownQuestion["before"]> {
  const { runs } = await archive.list({ tool, principal, limit: LOOKED_AT });
  for (const { run_id: runId } of runs) {
    const run = await archive.read(runId);
    const call = run.record.calls.findLast(
      (each) =>
        each.tool === tool &&
        each.decision.startsWith("approved") &&
        !isByReviewer(each.approver) &&
        each.unkept === undefined,
    );
    if (call !== undefined) return { runId, arguments: await run.argumentsOf(call), approver: call.approver };
  }
  return undefined;
}

const MAX_BESIDE = 10;
/** How many questions one page shows whole, and how long these may be. */
const MAX_WHOLE = 20;
const MAX_WHOLE_BYTES = 64 * 1024;
const HOW = "ptc console";

const NOTICES: Readonly<Record<string, string>> = {
  approved: "Approved.",
  denied: "Denied.",
  before: "It was answered before, and the first answer counts.",
  gone: GONE,
  changed: "Nothing was answered: the question is not the one that you saw. Look at it again.",
};

/** Puts the routes of the inbox, and of answers in place. */
export function inboxRoutes(app: Routes, answers: Answers): void {
  app.get("/inbox", (c) => answers.page(c, () => showInbox(c)));
  app.get("/inbox/:ticket", (c) => answers.page(c, () => showInbox(c, c.req.param("ticket"))));
  app.post("/inbox/:ticket", (c) => answers.act(c, () => takeAnswer(c)));
  app.post("/inbox/:ticket/passkey", (c) => answers.json(c, () => askForPasskey(c)));

  async function showInbox(c: Asked, ticket?: string): Promise<ConsolePage> {
    const { archive, now, configuration } = answers.parts;
    const sight = c.get("sight");
    const approvals = await answers.parts.pending();
    const waiting = ticket === undefined ? await answers.waiting(c) : [];
    const isFirst = (listed: ListedQuestion, index: number) =>
      index < MAX_WHOLE && listed.bytes <= MAX_WHOLE_BYTES;
    const listed = waiting.filter(({ isAnswered }) => !isAnswered);
    const shown = ticket === undefined ? listed.filter(isFirst).map((each) => each.ticket) : [ticket];
    const questions: ShownQuestion[] = [];
    let answered = waiting.filter(({ isAnswered, isLive }) => isAnswered && !isLive);
    for (const [index, each] of shown.entries()) {
      const pending = await sight.question(approvals, each);
      if (pending === undefined) continue;
      if (pending.isAnswered) {
        if (!pending.isLive) answered = [...answered, { ...pending, bytes: 0 }];
        continue;
      }
      const { owner, request } = pending;
      const before =
        index < MAX_BESIDE && (await sight.mayRead(owner))
          ? await findApproved(archive, request.tool, owner.principal).catch(() => undefined)
          : undefined;
      const isShown = before !== undefined && (await sight.mayRead(owner, before.runId));
      questions.push({ pending, before: isShown ? before : undefined });
    }
    return renderInbox({
      questions,
      further: listed.filter((each, index) => !isFirst(each, index)),
      answered,
      frame: await answers.frame(c),
      nowMs: now(),
      approves: c.get("rights").approves,
      needsPasskey: requiredProof() === "passkey",
      whyNoApproval:
        configuration().approvals.require === "terminal"
          ? "approvals.require is `terminal`: an approval has to be typed there, with ptc approvals approve."
          : undefined,
      notice: NOTICES[c.req.query("done") ?? ""],
      isOne: ticket !== undefined,
    });
  }

  function requiredProof(): RequiredProof {
    return answers.parts.configuration().approvals.require;
  }

  /** The question with this ticket, if the viewer may answer it. */
  async function askedOf(c: Asked): Promise<PendingApproval | undefined> {
    if (!c.get("rights").approves) throw new RefusedError(403, "You may not answer questions here.");
    const approvals = await answers.parts.pending();
    const ticket = c.req.param("ticket") ?? "";
    return c.get("sight").question(approvals, ticket);
  }

  async function takeAnswer(c: Asked): Promise<string> {
    const { viewer } = c.get("session");
    const pending = await askedOf(c);
    if (pending === undefined) return `${BASE}/inbox?done=gone`;
    const form = await formOf(c);
    if (form.get("digest") !== pending.digest) return `${BASE}/inbox?done=changed`;
    const scope = scopeIn(form, pending);
    const approves = approvesAny(scope);
    const proof = !approves ? undefined : await proofIn(form, viewer, pending, scope);
    const by = answers.parts.nameInAudit(viewer);
    const approvals = await answers.parts.pending();
    const answer = { ...scope, by, how: HOW, ...(proof && { proof }) };
    const required = requiredProof();
    if (required !== "any" && countsProven(answer, required) !== answer)
      throw new RefusedError(403, `Nothing was answered: ${NOT_PROVEN[required]}.`);
    const isFirst = await approvals.answer(pending.owner.principal, pending, answer);
    if (isFirst) await c.get("sight").mayAnswer(pending, true);
    await answers.feed.refresh();
    return `${BASE}/inbox?done=${isFirst ? (approves ? "approved" : "denied") : "before"}`;
  }

  /** Begins the use of a passkey for an answer. It counts for this answer to this question alone. */
  async function askForPasskey(c: Asked): Promise<object> {
    const pending = await askedOf(c);
    if (pending === undefined) throw new RefusedError(404, GONE);
    const { ticket, digest } = pending;
    const scope = digestOf(scopeIn(await formOf(c), pending));
    return answers.parts.passkeys.ask(c.get("session").viewer.principal, {
      kind: "answer",
      ticket,
      digest,
      scope,
    });
  }

  /** The passkey with which a form was sent, if there is one. @throws PasskeyError where it is for another answer. */
  async function proofIn(
    form: URLSearchParams,
    { principal }: Viewer,
    { ticket, digest }: PendingApproval,
    scope: ApprovalScope,
  ): Promise<Proof | undefined> {
    const given = ceremonyAnswerIn(form);
    if (given === undefined) return undefined;
    const { use, credential } = await answers.parts.passkeys.use(principal, "answer", given);
    if (use.ticket !== ticket || use.digest !== digest || use.scope !== digestOf(scope))
      throw new PasskeyError("this passkey was used for another answer; load the inbox and try again");
    return { way: "passkey", credential };
  }
}

/** What a form approves. @throws RefusedError for what is no answer. */
function scopeIn(form: URLSearchParams, { request }: PendingApproval): ApprovalScope {
  const decision = form.get("decision");
  const { plan } = request;
  if (isPlanQuestion(plan) && (decision === "plan" || decision === "none" || decision === "denied")) {
    const approvable = approvableCalls(plan);
    const chosen = decision === "plan" ? form.getAll("call").map(Number) : [];
    if (!chosen.every((number) => approvable.includes(number)))
      throw new RefusedError(400, "This is no answer to a question.");
    const kept = decision === "plan" ? form.getAll("keep").map(Number) : [];
    if (!kept.every((number) => keepableCalls(plan).includes(number)))
      throw new RefusedError(400, "This is no answer to a question.");
    return planAnswer(plan, { calls: chosen, kept });
  }
  if (decision === "denied" || decision === "once") return { decision };
  if (decision !== "run") throw new RefusedError(400, "This is no answer to a question.");
  const calls = form.get("calls") === "all" ? "all" : "like";
  const names = form.getAll("likeName");
  const except =
    calls === "all"
      ? []
      : form.getAll("like").flatMap((pattern, i) => (pattern === "" ? [] : [`${names[i]}=${pattern}`]));
  const read = parseScope({ calls, except, atMost: form.get("atMost") ?? undefined }, request.arguments);
  if (read.ok) return read.scope;
  throw new RefusedError(400, read.why);
}
