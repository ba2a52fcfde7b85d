import { isObject } from "../../base/json.ts";
import { visibleLine, visibleLines } from "../../base/visible-text.ts";
import type { Elicitation, FormField, FormOption } from "./elicitation.ts";

const MAX_MESSAGE_CHARS = 2_000;
const MAX_FIELDS = 32;
const MAX_NAME_CHARS = 128;
const MAX_TITLE_CHARS = 200;
const MAX_DESCRIPTION_CHARS = 500;
const MAX_OPTIONS = 100;
const MAX_URL_CHARS = 4_096;
/** No form asks for longer texts, and no person would type them. */
const MAX_TEXT_CHARS = 10_000;
const FORMATS = ["email", "uri", "date", "date-time"] as const;
const CUT = " ...";

export type ParsedElicitation = { ok: true; elicitation: Elicitation } | { ok: false; problem: string };

/** Thrown for a question that cannot be put to a person. The message is phrased to follow the server's name. */
class UnaskableError extends Error {}

/**
 * Reads a server's question to a person (MCP 2025-11-25 and 2026-07-28, "Elicitation Requests"): the parts that the protocol
 * defines, within bounds. Cut texts are marked.
 *
 * @param redact removes secrets from texts. Names, values and URLs with a secret are refused, because they have to be sent
 * unchanged.
 */
export function parseElicitation(params: unknown, redact: (text: string) => string): ParsedElicitation {
  try {
    return { ok: true, elicitation: new Reader(redact).read(params) };
  } catch (error) {
    if (!(error instanceof UnaskableError)) throw error;
    return { ok: false, problem: `asked something that cannot be put to a person: ${error.message}` };
  }
}

class Reader {
  readonly #redact: (text: string) => string;

  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  read(params: unknown): Elicitation {
    if (!isObject(params)) throw new UnaskableError("it says nothing that can be read");
    const { mode = "form", message, requestedSchema, url } = params;
    if (typeof message !== "string") throw new UnaskableError("it has no message");
    const text = cut(visibleLines(this.#redact(message)).trim(), MAX_MESSAGE_CHARS);
    if (mode === "url") return { mode, message: text, ...this.#address(url) };
    if (mode !== "form") throw new UnaskableError("it is neither a form nor an address");
    return { mode, message: text, fields: this.#fields(requestedSchema) };
  }

  #address(url: unknown): { url: string; host: string } {
    const address = this.#exact(url, "its address", MAX_URL_CHARS);
    if (!URL.canParse(address)) throw new UnaskableError("its address is no URL");
    const { protocol, host, href } = new URL(address);
    if (protocol !== "https:" && protocol !== "http:")
      throw new UnaskableError("its address begins neither with https: nor with http:");
    if (host === "") throw new UnaskableError("its address names no host");
    return { url: href, host };
  }

  #fields(schema: unknown): FormField[] {
    if (!isObject(schema) || !isObject(schema.properties ?? {}))
      throw new UnaskableError("its form has no fields that can be read");
    const properties = Object.entries((schema.properties ?? {}) as Record<string, unknown>);
    if (properties.length > MAX_FIELDS)
      throw new UnaskableError(`its form has more than ${MAX_FIELDS} fields`);
    const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
    return properties.map(([name, property]) => this.#field(name, property, required.includes(name)));
  }

  #field(name: string, property: unknown, isRequired: boolean): FormField {
    if (!isObject(property)) throw new UnaskableError("a field of its form has no type");
    const common = {
      name: this.#exact(name, "a name of a field", MAX_NAME_CHARS),
      title: this.#text(property.title, MAX_TITLE_CHARS),
      description: this.#text(property.description, MAX_DESCRIPTION_CHARS),
      isRequired,
    };
    switch (property.type) {
      case "string": {
        const options = this.#options(property);
        if (options !== undefined)
          return { ...common, kind: "choice", options, byDefault: chosen(property.default, options) };
        const format = FORMATS.find((each) => each === property.format);
        const [minLength, maxLength] = [lengthOf(property.minLength), lengthOf(property.maxLength)];
        const byDefault =
          typeof property.default === "string" && property.default !== ""
            ? this.#exact(property.default, "a default of a field", MAX_TEXT_CHARS)
            : undefined;
        return { ...common, kind: "text", minLength, maxLength, format, byDefault };
      }
      case "number":
      case "integer":
        return {
          ...common,
          kind: "number",
          isInteger: property.type === "integer",
          minimum: finite(property.minimum),
          maximum: finite(property.maximum),
          byDefault: finite(property.default),
        };
      case "boolean":
        return {
          ...common,
          kind: "boolean",
          byDefault: typeof property.default === "boolean" ? property.default : undefined,
        };
      case "array": {
        const options = isObject(property.items) ? this.#options(property.items) : undefined;
        if (options === undefined) throw new UnaskableError("a list in its form has nothing to choose from");
        const given = Array.isArray(property.default) ? (property.default as unknown[]) : undefined;
        const byDefault = given?.flatMap((value) => chosen(value, options) ?? []);
        const [minItems, maxItems] = [lengthOf(property.minItems), lengthOf(property.maxItems)];
        return { ...common, kind: "choices", options, minItems, maxItems, byDefault };
      }
      default:
        throw new UnaskableError("a field of its form is neither a text, a number, a choice nor a yes or no");
    }
  }

  /** The values to choose from; `undefined` for a field that accepts any value of its type. */
  #options({
    enum: values,
    enumNames: names,
    oneOf,
    anyOf,
  }: Record<string, unknown>): FormOption[] | undefined {
    const titled = oneOf ?? anyOf;
    const listed: [unknown, unknown][] | undefined = Array.isArray(titled)
      ? titled.map((each: unknown) => (isObject(each) ? [each.const, each.title] : [undefined, undefined]))
      : Array.isArray(values)
        ? values.map((value: unknown, index) => [value, Array.isArray(names) ? names[index] : undefined])
        : undefined;
    if (listed === undefined) return undefined;
    if (listed.length === 0 || listed.length > MAX_OPTIONS)
      throw new UnaskableError(`a choice in its form is not one of 1 to ${MAX_OPTIONS}`);
    return listed.map(([value, title]) => {
      const exact = this.#exact(value, "a value to choose", MAX_TITLE_CHARS);
      return { value: exact, title: this.#text(title, MAX_TITLE_CHARS) ?? visibleLine(exact) };
    });
  }

  #text(value: unknown, maxChars: number): string | undefined {
    if (typeof value !== "string") return undefined;
    return cut(visibleLine(this.#redact(value).replaceAll(/\s+/g, " ").trim()), maxChars) || undefined;
  }

  /** A text that has to be sent unchanged. */
  #exact(value: unknown, what: string, maxChars: number): string {
    if (typeof value !== "string" || value === "") throw new UnaskableError(`${what} is no text`);
    if (value.length > maxChars) throw new UnaskableError(`${what} is longer than ${maxChars} characters`);
    if (this.#redact(value) !== value) throw new UnaskableError(`${what} holds a secret`);
    return value;
  }
}

function chosen(value: unknown, options: readonly FormOption[]): string | undefined {
  return options.find((option) => option.value === value)?.value;
}

function lengthOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

function finite(value: unknown): number | undefined {
  return Number.isFinite(value) ? Number(value) : undefined;
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : `${text.slice(0, maxChars - CUT.length).replace(/[\ud800-\udbff]$/, "")}${CUT}`;
}
