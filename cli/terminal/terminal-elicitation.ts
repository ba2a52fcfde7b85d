import { visibleLine } from "../../base/visible-text.ts";
import type {
  ElicitationAnswer,
  ElicitationRequest,
  FormField,
  FormValue,
} from "../../broker/elicitation/elicitation.ts";
import { readFormValues, valueProblem } from "../../broker/elicitation/form-values.ts";
import type { QuestionParts } from "./terminal-question.ts";
import { readLine, throwAwayTyped } from "./typed-line.ts";

/** What stands for an empty line where an empty line means something else. */
const NOTHING = "-";

const CANCELLED: ElicitationAnswer = { action: "cancel" };

/**
 * Draws a question of a server below everything else on the terminal. A form is filled in field by field and looked at before
 * it is sent; an address is shown and never opened. The end of the input and Ctrl-C are no answer.
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
        `Have you opened it at ${visibleLine(elicitation.host)}, and may the call go on? [y]es, [N]o: `,
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
  const begins = yesOrNo(first, {});
  if (begins.action !== "accept") return begins;
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
      : ` (Enter for ${visibleLine(JSON.stringify(field.byDefault)).slice(0, 60)})`;
  return `${hint}${byDefault}${leaves}> `.trimStart();
}

/** The value that was typed; `undefined` when it is none of the field's kind. */
function readTyped(field: FormField, line: string): FormValue | undefined {
  const text = line.trim();
  switch (field.kind) {
    case "text":
      return line;
    case "number":
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

/** The option of a number, or of its own value. */
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
    ([name, value]) => `${visibleLine(name)}: ${visibleLine(JSON.stringify(value))}`,
  );
  return entries.length === 0 ? "nothing" : entries.join("\n");
}
