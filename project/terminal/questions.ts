import { createInterface } from "node:readline";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { isBigIntegerText, writeJson } from "../../base/json.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { visibleLine } from "../../base/visible-text.ts";
import {
  type ApprovalScope,
  approvableCalls,
  DEFAULT_AT_MOST,
  parseScope,
  planAnswer,
  readChosen,
} from "../../broker/approvals/approval-scope.ts";
import {
  isPlanQuestion,
  renderAskedArguments,
  renderClaims,
  renderOrigins,
  renderPlan,
  renderPlanNotes,
  renderPlannedCall,
  summarizePlan,
} from "../../broker/approvals/approval-text.ts";
import type { ApprovalRequest } from "../../broker/approvals/approvals.ts";
import type {
  ElicitationAnswer,
  ElicitationRequest,
  FormField,
  FormValue,
} from "../../broker/elicitation/elicitation.ts";
import { readFormValues, valueProblem } from "../../broker/elicitation/form-values.ts";
import type { Surroundings } from "../surroundings.ts";
import type { ProgramConsole } from "./program-console.ts";

/** A longer tool name is shown with the arguments, but not repeated in the line with the cursor. */
const MAX_NAME_CHARS = 40;

const SCOPES = `\
y: this call. a [calls]: this tool in this run. s [name=pattern]... [calls]: the same
but for the arguments named, * being anything. calls: how many, ${DEFAULT_AT_MOST} if not said.
`;

export interface QuestionParts {
  console: ProgramConsole;
  surroundings: Surroundings;
  /** Who wants the call, in words that go before the tool. By default a program. */
  asker?: string | undefined;
  /** Called on Ctrl-C while a question is open. */
  onInterrupt: () => void;
}

/**
 * Draws one question below everything else on the terminal and reads its answer. Text of programs and servers in it is
 * marked line by line. Anything but an explicit approval is a denial.
 */
export async function askOnTerminal(
  { tool, arguments: args, reason, origins = [], claims, ticket, plan, differs }: ApprovalRequest,
  { console, surroundings, asker = "the program wants to call", onInterrupt }: QuestionParts,
  signal: AbortSignal,
): Promise<ApprovalScope> {
  if (signal.aborted) return DENIED;
  const name = unmistakableLine(tool);
  console.hold();
  try {
    if (!(await throwAwayTyped(surroundings.stdin))) {
      onInterrupt();
      return DENIED;
    }
    if (signal.aborted) return DENIED;
    const notPlanned =
      differs === undefined ? "" : `It is not what was approved: ${unmistakableLine(differs)}\n`;
    if (isPlanQuestion(plan)) {
      console.draw(`\nptc asks: ${asker}\n${notPlanned}`);
      console.draw(console.quote(summarizePlan(plan)));
      console.draw(console.quote(renderPlan(plan).join("\n")));
      for (const line of renderPlanNotes(plan)) console.draw(`${line}\n`);
      if (reason !== undefined) console.draw(`1. is asked because ${unmistakableLine(reason)}\n`);
      return await askAboutPlan(plan, {
        typed: (prompt) => readLine(prompt, surroundings, onInterrupt, signal),
        draw: (text) => console.draw(text),
        quote: (text) => console.quote(text),
      });
    }
    console.draw(`\nptc asks: ${asker}\n${notPlanned}`);
    console.draw(console.quote(name));
    console.draw("with\n");
    const { text, rest } = renderAskedArguments(args, ticket);
    console.draw(console.quote(text));
    if (rest !== undefined) console.draw(`${rest}\n`);
    if (reason !== undefined) console.draw(`because ${unmistakableLine(reason)}\n`);
    for (const line of renderOrigins(origins)) console.draw(`${line}\n`);
    const claimed = renderClaims(claims);
    if (claimed !== undefined) {
      console.draw(`${claimed.heading}\n`);
      console.draw(console.quote(claimed.said.join("\n")));
    }
    if (plan !== undefined) for (const line of renderPlanNotes(plan)) console.draw(`${line}\n`);
    console.draw(SCOPES);
    const what = name.length <= MAX_NAME_CHARS ? name : "this";
    const prompt = `Allow ${what}? [y]es, [a]ll, [s]ame arguments, [N]o: `;
    return readAnswer(await readLine(prompt, surroundings, onInterrupt, signal), args);
  } finally {
    console.release();
  }
}

const DENIED: ApprovalScope = { decision: "denied" };
const MAX_LOOKS = 100;

type Plan = NonNullable<ApprovalRequest["plan"]>;

/** Reads which calls of a plan are approved. Anything but an explicit approval denies all of them. */
async function askAboutPlan(plan: Plan, { typed, draw, quote }: FormParts): Promise<ApprovalScope> {
  const count = approvableCalls(plan).length;
  const prompt = `Allow these ${count} calls? [y]es, some by numbers such as 1-4,6, [show 3], [N]o: `;
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const line = (await typed(prompt))?.trim().toLowerCase() ?? "";
    const [, shown] = /^show\s+(\d{1,6})$/.exec(line) ?? [];
    if (shown === undefined) {
      const word = line.replace(/^y(?:es)?(?=\??$)/, "all");
      return planAnswer(plan, readChosen(word, plan) ?? { calls: [] });
    }
    draw(quote(renderPlannedCall(plan, Number(shown)).join("\n")));
  }
  return planAnswer(plan, { calls: [] });
}

function readAnswer(line: string | undefined, args: unknown): ApprovalScope {
  const [word = "", ...rest] = line?.trim().split(/\s+/) ?? [];
  const last = rest.at(-1);
  const atMost = last !== undefined && !last.includes("=") ? rest.pop() : undefined;
  switch (word.toLowerCase()) {
    case "y":
    case "yes":
      return line?.trim() === word ? { decision: "once" } : DENIED;
    case "a":
    case "all":
      return rest.length === 0 ? scopeOr("all", [], atMost, args) : DENIED;
    case "s":
    case "same":
      return scopeOr("like", rest, atMost, args);
    default:
      return DENIED;
  }
}

function scopeOr(
  calls: "all" | "like",
  except: readonly string[],
  atMost: string | undefined,
  args: unknown,
): ApprovalScope {
  const read = parseScope({ calls, except, atMost }, args);
  return read.ok ? read.scope : DENIED;
}

/** Means an empty value where an empty line has another meaning. */
const NOTHING = "-";

const CANCELLED: ElicitationAnswer = { action: "cancel" };

/**
 * Draws a server's question below everything else on the terminal. A form is filled in field by field, and the person reviews it
 * before it is sent. A URL is shown and never opened. The end of input and Ctrl-C cancel the question.
 */
export async function elicitOnTerminal(
  elicitation: ElicitationRequest,
  { console, surroundings, onInterrupt }: QuestionParts,
  signal: AbortSignal,
): Promise<ElicitationAnswer> {
  if (signal.aborted) return CANCELLED;
  console.hold();
  try {
    if (!(await throwAwayTyped(surroundings.stdin))) {
      onInterrupt();
      return CANCELLED;
    }
    if (signal.aborted) return CANCELLED;
    const typed = (prompt: string) => readLine(prompt, surroundings, onInterrupt, signal);
    const draw = (text: string) => console.draw(text);
    draw(renderHeading(elicitation));
    if (elicitation.message !== "") draw(console.quote(elicitation.message));
    if (elicitation.mode === "form")
      return await fillIn(elicitation.fields, { typed, draw, quote: (text) => console.quote(text) });
    draw(`Address (ptc does not open it):\n`);
    draw(console.quote(visibleLine(elicitation.url)));
    return yesOrNo(
      await typed(
        `Have you opened it at ${visibleLine(elicitation.host)}, and may the call continue? [y]es, [N]o: `,
      ),
      {},
    );
  } finally {
    console.release();
  }
}

function renderHeading(elicitation: ElicitationRequest): string {
  const server = visibleLine(elicitation.server);
  const during = elicitation.tool === undefined ? "a call" : `a call of ${visibleLine(elicitation.tool)}`;
  const what = elicitation.mode === "form" ? "asks" : `asks you to visit ${visibleLine(elicitation.host)}`;
  return `\nServer '${server}' ${what}, during ${during}:\n`;
}

interface FormParts {
  typed: (prompt: string) => Promise<string | undefined>;
  draw: (text: string) => void;
  /** Marks text of a server. */
  quote: (text: string) => string;
}

async function fillIn(fields: readonly FormField[], parts: FormParts): Promise<ElicitationAnswer> {
  const { typed, draw, quote } = parts;
  if (fields.length === 0) return yesOrNo(await typed("Accept? [y]es, [N]o: "), {});
  const first = await typed(
    `It asks for ${fields.length === 1 ? "one value" : `${fields.length} values`}. Answer? [y]es, [N]o: `,
  );
  const start = yesOrNo(first, {});
  if (start.action !== "accept") return start;
  for (;;) {
    const values: Record<string, FormValue> = {};
    for (const [index, field] of fields.entries()) {
      const value = await askField(field, `${index + 1} of ${fields.length}`, parts);
      if (value === undefined) return CANCELLED;
      if (value !== LEFT_OUT) Object.defineProperty(values, field.name, { value, ...MEMBER });
    }
    draw("This is sent to the server:\n");
    draw(quote(visibleJson(values)));
    const decision = (await typed("Send it? [y]es, [e]dit, [N]o: "))?.trim().toLowerCase();
    if (decision === "e" || decision === "edit") continue;
    const read = readFormValues(fields, values);
    return yesOrNo(decision, read.ok ? read.values : {});
  }
}

const MEMBER = { enumerable: true, writable: true, configurable: true };
const LEFT_OUT = Symbol("a field that was left empty");

/** Asks until the value fits. Resolves with `undefined` when there is no answer. */
async function askField(
  field: FormField,
  place: string,
  { typed, draw, quote }: FormParts,
): Promise<FormValue | typeof LEFT_OUT | undefined> {
  draw(`Value ${place}${field.isRequired ? "" : ", which may be left out"}:\n`);
  const title = field.title === undefined ? field.name : `${field.title} (${field.name})`;
  draw(
    quote(
      [title, ...(field.description === undefined ? [] : [field.description])].map(visibleLine).join("\n"),
    ),
  );
  if (field.kind === "choice" || field.kind === "choices") {
    draw(
      quote(field.options.map(({ title: shown }, index) => `${index + 1}  ${visibleLine(shown)}`).join("\n")),
    );
  }
  for (;;) {
    const line = await typed(promptFor(field));
    if (line === undefined) return undefined;
    const text = line.trim();
    const isLeftOut = text === NOTHING && !field.isRequired;
    if (isLeftOut || (text === "" && field.byDefault === undefined && !field.isRequired)) return LEFT_OUT;
    const value = text === "" ? field.byDefault : readTyped(field, line);
    const problem = value === undefined ? expected(field) : valueProblem(field, value);
    if (problem === undefined && value !== undefined) return value;
    draw(`It must be ${problem}.\n`);
  }
}

function promptFor(field: FormField): string {
  const hint =
    field.kind === "boolean"
      ? " [y/n]"
      : field.kind === "choice"
        ? " [number]"
        : field.kind === "choices"
          ? " [numbers, with spaces]"
          : "";
  const leaves = field.isRequired
    ? ""
    : field.byDefault === undefined
      ? " (Enter for none)"
      : ` (${NOTHING} for none)`;
  const byDefault =
    field.byDefault === undefined
      ? ""
      : ` (Enter for ${visibleLine(writeJson(field.byDefault)).slice(0, 60)})`;
  return `${hint}${byDefault}${leaves}> `.trimStart();
}

/** The value that was typed; `undefined` when it does not fit the field. */
function readTyped(field: FormField, line: string): FormValue | undefined {
  const text = line.trim();
  switch (field.kind) {
    case "text":
      return line;
    case "number":
      if (isBigIntegerText(text)) return BigInt(text);
      return text === "" || !Number.isFinite(Number(text)) ? undefined : Number(text);
    case "boolean":
      return /^(?:y|yes|true)$/i.test(text) ? true : /^(?:n|no|false)$/i.test(text) ? false : undefined;
    case "choice":
      return pick(field, text);
    case "choices": {
      const picked = text
        .split(/[\s,]+/)
        .filter(Boolean)
        .map((each) => pick(field, each));
      return picked.includes(undefined) ? undefined : [...new Set(picked as string[])];
    }
  }
}

/** The option that a number, or a value itself, names. */
function pick(
  { options }: Extract<FormField, { kind: "choice" | "choices" }>,
  text: string,
): string | undefined {
  const byNumber = /^\d{1,3}$/.test(text) ? options[Number(text) - 1] : undefined;
  return (byNumber ?? options.find(({ value }) => value === text))?.value;
}

function expected(field: FormField): string {
  switch (field.kind) {
    case "text":
      return "a text";
    case "number":
      return field.isInteger ? "a whole number" : "a number";
    case "boolean":
      return "y or n";
    case "choice":
      return "one of the numbers";
    case "choices":
      return "some of the numbers";
  }
}

function yesOrNo(line: string | undefined, values: Readonly<Record<string, FormValue>>): ElicitationAnswer {
  if (line === undefined) return CANCELLED;
  return /^\s*(?:y|yes)\s*$/i.test(line) ? { action: "accept", values } : { action: "decline" };
}

function visibleJson(values: object): string {
  const entries = Object.entries(values).map(
    ([name, value]) => `${visibleLine(name)}: ${visibleLine(writeJson(value))}`,
  );
  return entries.length === 0 ? "nothing" : entries.join("\n");
}

/** A question is shown only after this long without a key, so that earlier keys do not count as an answer. */
const DRAIN_MS = 50;
/** After this many rounds the question is shown even if a key is held down. */
const MAX_DRAINS = 20;
/** The byte that a terminal in raw mode sends for Ctrl-C. */
const INTERRUPT = 0x03;

/** Reads and drops what was typed before the question was shown. Resolves with false if Ctrl-C was among it. */
export async function throwAwayTyped(stdin: Surroundings["stdin"]): Promise<boolean> {
  let isInterrupted = false;
  let hasCome = true;
  const ignore = (chunk: Buffer | string) => {
    hasCome = true;
    isInterrupted ||= Buffer.from(chunk).includes(INTERRUPT);
  };
  // Outside raw mode, a terminal holds typed keys back until a line is complete.
  stdin.setRawMode?.(true);
  stdin.on("data", ignore);
  stdin.resume();
  for (let round = 0; hasCome && round < MAX_DRAINS; round++) {
    hasCome = false;
    await delay(DRAIN_MS);
    // On a busy machine a late timer fires before waiting input is read. The next turn comes after that input.
    await nextTurn();
  }
  stdin.pause();
  stdin.off("data", ignore);
  stdin.setRawMode?.(false);
  return !isInterrupted;
}

/** Resolves with the typed line, or with `undefined` on Ctrl-C, at the end of input, or when `signal` is aborted. */
export function readLine(
  prompt: string,
  { stdin, stderr }: Surroundings,
  onInterrupt: () => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  const over = new AbortController();
  return new Promise<string | undefined>((resolve) => {
    reader.on("SIGINT", () => {
      onInterrupt();
      resolve(undefined);
    });
    reader.on("close", () => resolve(undefined));
    signal.addEventListener("abort", () => resolve(undefined), { signal: over.signal });
    reader.question(prompt, resolve);
  }).finally(() => {
    over.abort();
    reader.close();
    if (signal.aborted) stderr.write("\n");
  });
}
