import { visibleLine } from "../../../base/text/visible-text.ts";
import type {
  ElicitationAnswer,
  ElicitationRequest,
  FormField,
  FormOption,
} from "../../../broker/elicitation/elicitation.ts";
import { readFormValues } from "../../../broker/elicitation/form-values.ts";

/**
 * What a client shows a person (MCP 2025-11-25, Elicitation): in its first line, who asks, in ptc's own words. The server's
 * words are marked line by line, so that none of them passes for ptc's.
 */
export function buildElicitationForm(elicitation: ElicitationRequest) {
  const form = { mode: "form" as const, message: renderElicitation(elicitation) };
  const fields = elicitation.mode === "form" ? elicitation.fields : [];
  const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const properties = Object.fromEntries(fields.map((field) => [field.name, buildProperty(field)]));
  return {
    ...form,
    requestedSchema: {
      type: "object" as const,
      properties,
      ...(required.length === 0 ? {} : { required }),
    },
  };
}

/** The same for an address, for a client that shows addresses and has a person open them. */
export function buildVisit(elicitation: Extract<ElicitationRequest, { mode: "url" }>) {
  return { mode: "url" as const, message: renderElicitation(elicitation), url: elicitation.url };
}

/** Reads a client's answer. What is no answer to the form is not passed on as one. */
export function parseElicitationAnswer(
  elicitation: ElicitationRequest,
  response: unknown,
): ElicitationAnswer {
  if (typeof response !== "object" || response === null) return { action: "unasked", why: NO_ANSWER };
  const { action, content } = response as { action?: unknown; content?: unknown };
  switch (action) {
    case "decline":
    case "cancel":
      return { action };
    case "accept": {
      if (elicitation.mode === "url") return { action, values: {} };
      const given = typeof content === "object" && content !== null ? { ...content } : {};
      const read = readFormValues(elicitation.fields, given);
      if (read.ok) return { action, values: read.values };
      return {
        action: "unasked",
        why: `the client's answer does not fit the form: ${visibleLine(read.problem)}`,
      };
    }
    default:
      return { action: "unasked", why: NO_ANSWER };
  }
}

const NO_ANSWER = "the client's answer is none";

function renderElicitation(elicitation: ElicitationRequest): string {
  const { server, tool, message } = elicitation;
  const what = elicitation.mode === "form" ? "asks" : `asks you to visit ${visibleLine(elicitation.host)}`;
  const during = tool === undefined ? "during a call" : `during a call of ${visibleLine(tool)}`;
  const said = message === "" ? [] : message.split("\n").map((line) => `> ${line}`);
  const address = elicitation.mode === "url" ? [`Address: ${visibleLine(elicitation.url)}`] : [];
  return [`Server '${visibleLine(server)}' ${what}, ${during}:`, ...said, ...address].join("\n");
}

function buildProperty(field: FormField) {
  const { title, description } = field;
  const texts = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
  switch (field.kind) {
    case "text": {
      const { minLength, maxLength, format, byDefault } = field;
      return {
        type: "string" as const,
        ...texts,
        ...known({ minLength, maxLength, format, default: byDefault }),
      };
    }
    case "number": {
      const { isInteger, minimum, maximum, byDefault } = field;
      const type = isInteger ? ("integer" as const) : ("number" as const);
      return { type, ...texts, ...known({ minimum, maximum, default: byDefault }) };
    }
    case "boolean":
      return { type: "boolean" as const, ...texts, ...known({ default: field.byDefault }) };
    case "choice":
      return {
        type: "string" as const,
        ...texts,
        oneOf: titled(field.options),
        ...known({ default: field.byDefault }),
      };
    case "choices": {
      const { minItems, maxItems, byDefault } = field;
      const items = { anyOf: titled(field.options) };
      const given = byDefault === undefined ? undefined : [...byDefault];
      return { type: "array" as const, ...texts, items, ...known({ minItems, maxItems, default: given }) };
    }
  }
}

function titled(options: readonly FormOption[]): { const: string; title: string }[] {
  return options.map(({ value, title }) => ({ const: value, title }));
}

type Known<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members that have a value. */
function known<T extends object>(members: T): Known<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Known<T>;
}
