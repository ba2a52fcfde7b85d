import type { FormField, FormValue } from "./elicitation.ts";

/** Simplified checks of formats, for people who type. The server checks the values itself. */
const FORMATS = {
  email: { pattern: /^[^\s@]+@[^\s@]+$/, what: "an address such as ann@example.com" },
  uri: { pattern: /^[a-z][a-z0-9+.-]*:\S+$/i, what: "a URL such as https://example.com" },
  date: { pattern: /^\d{4}-\d\d-\d\d$/, what: "a date such as 2026-05-31" },
  "date-time": {
    pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i,
    what: "a time such as 2026-05-31T12:00:00Z",
  },
} as const;

/** What is wrong with a field's value, phrased to follow "must be"; `undefined` if nothing is. */
export function valueProblem(field: FormField, value: unknown): string | undefined {
  switch (field.kind) {
    case "text": {
      const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format } = field;
      if (typeof value !== "string") return "a text";
      const length = [...value].length;
      if (length < minLength) return `at least ${minLength} characters long`;
      if (length > maxLength) return `at most ${maxLength} characters long`;
      return format === undefined || FORMATS[format].pattern.test(value) ? undefined : FORMATS[format].what;
    }
    case "number": {
      const { isInteger, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = field;
      if (typeof value !== "bigint") {
        if (typeof value !== "number" || !Number.isFinite(value)) return "a number";
        if (isInteger && !Number.isSafeInteger(value)) return "a whole number";
      }
      if (value < minimum) return `at least ${minimum}`;
      return value > maximum ? `at most ${maximum}` : undefined;
    }
    case "boolean":
      return typeof value === "boolean" ? undefined : "yes or no";
    case "choice":
      return field.options.some((option) => option.value === value)
        ? undefined
        : "one of those to choose from";
    case "choices": {
      const { options, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = field;
      if (!Array.isArray(value) || value.some((each) => !options.some((option) => option.value === each)))
        return "some of those to choose from";
      if (value.length < minItems) return `at least ${minItems} of them`;
      return value.length > maxItems ? `at most ${maxItems} of them` : undefined;
    }
  }
}

/** The values of a form that a client sent, or what is wrong with them. Members that are not fields are left out. */
export function readFormValues(
  fields: readonly FormField[],
  content: Readonly<Record<string, unknown>>,
): { ok: true; values: Record<string, FormValue> } | { ok: false; problem: string } {
  const entries: [string, FormValue][] = [];
  for (const field of fields) {
    const value = Object.hasOwn(content, field.name) ? content[field.name] : undefined;
    // Forms send an empty text for an empty field.
    const isLeftOut = value === undefined || value === null || (value === "" && !field.isRequired);
    if (isLeftOut && field.isRequired) return { ok: false, problem: `'${field.name}' is missing` };
    if (isLeftOut) continue;
    const problem = valueProblem(field, value);
    if (problem !== undefined) return { ok: false, problem: `'${field.name}' must be ${problem}` };
    entries.push([field.name, value as FormValue]);
  }
  // `fromEntries` defines members, so that one named `__proto__` stays a member.
  return { ok: true, values: Object.fromEntries(entries) };
}
