import { pascalCase } from "../../catalog/identifiers.ts";
import type { Documentation, Property, TypeModel, TypeNode } from "../../catalog/model/type-model.ts";
import { type ToolModel, withoutTypes } from "../../catalog/tool-model.ts";
import { briefObservedNote, observedNote, withShownOutput } from "../describe-tool.ts";
import { visibleText } from "../escape.ts";
import { functionName, isPythonName, parameterNames, pythonString } from "./python-text.ts";
import { type ArgumentObject, argumentObjects, PythonNotation, withoutIntersection } from "./python-types.ts";

/** The longest sentence that the compact form quotes from a description. */
const MAX_SENTENCE_CHARS = 300;

/** The number of levels of objects to write out. A deeper object is a dict. */
const MAX_LEVELS = 24;

/** `full` shows descriptions, each on a separate line. */
type Form = "full" | "compact";

/**
 * The shortest faithful declaration of one tool for a model: `name(*,parameter:type,other?:type)->result`. Braces are dicts, and
 * `?` marks optional entries. In the full form, a type's default (`= value`), (format) and description follow it after a space.
 */
export function printPythonSignature(tool: ToolModel, form: Form): string {
  try {
    return print(tool, form);
  } catch {
    return print(withoutTypes(tool), form);
  }
}

function print(tool: ToolModel, form: Form): string {
  const name = functionName(tool.definition.name, tool.identifier);
  const shown = withShownOutput(tool, form);
  const input = new BriefTypes(tool.input, form, "");
  const call = `${name}(${input.parameters()})`;
  const output = shown.output === undefined ? undefined : new BriefTypes(shown.output, form, "Result");
  const returns = output === undefined ? "" : `->${output.root()}`;
  const types = [...input.definitions(), ...(output?.definitions() ?? [])];
  if (form === "compact") {
    const sentence = [firstSentence(tool.description ?? ""), briefObservedNote(tool) ?? ""]
      .filter((each) => each !== "")
      .join("; ");
    return [call + returns + (sentence === "" ? "" : `  # ${sentence}`), ...types].join("\n");
  }
  const comment = briefText(tool.description ?? "").map((line) => (line === "" ? "#" : `# ${line}`));
  const note = observedNote(tool);
  const observed = note === undefined ? [] : [`# The result is ${note}.`];
  return [...comment, ...observed, call + returns, ...types].join("\n");
}

/** Types in the form for models: dicts in braces, and values as alternatives. */
class BriefTypes extends PythonNotation<number> {
  readonly #model: TypeModel;
  readonly #form: Form;
  readonly #names: ReadonlyMap<string, string>;

  constructor(model: TypeModel, form: Form, prefix: string) {
    super();
    this.#model = model;
    this.#form = form;
    const names = new Map<string, string>();
    for (const name of model.definitions.keys()) {
      let wanted = prefix + pascalCase(name);
      while ([...names.values()].includes(wanted)) wanted += "_";
      names.set(name, wanted);
    }
    this.#names = names;
  }

  /** The parameters of a function. `or` separates alternatives. */
  parameters(): string {
    const objects = argumentObjects(this.#model);
    if (objects === undefined) {
      const { root } = this.#model;
      const takesNone = root.kind === "object" && root.properties.length === 0 && root.rest?.kind === "never";
      return takesNone ? "" : "**arguments";
    }
    return objects.map((object) => this.#alternative(object)).join(" or ");
  }

  root(): string {
    return this.#withFacts(this.print(this.#model.root, 0), this.#model.documentation);
  }

  definitions(): string[] {
    const { definitions } = this.#model;
    return [...definitions].map(
      ([name, { type, documentation }]) =>
        `${this.#names.get(name)}=${this.#withFacts(this.print(type, 0), documentation)}`,
    );
  }

  #alternative({ properties, rest }: ArgumentObject): string {
    const names = parameterNames(properties.map(({ name }) => name));
    const lines = this.#entries(properties, (name) => names.get(name) ?? name, 0);
    if (rest !== undefined && rest.kind !== "never") lines.push("**others");
    return this.#block("*,", lines, "", 0);
  }

  #withFacts(type: string, documentation: Documentation): string {
    const facts = this.#form === "full" ? briefFacts(documentation) : "";
    if (facts === "") return type;
    return type.includes("\n") ? type.replace("\n", ` # ${facts}\n`) : `${type} ${facts}`;
  }

  #entries(properties: readonly Property[], nameOf: (name: string) => string, level: number): string[] {
    return properties.map(({ name, type, required, documentation }) => {
      const annotation = this.print(type, level + 1);
      return this.#withFacts(`${nameOf(name)}${required ? "" : "?"}:${annotation}`, documentation);
    });
  }

  /** Prints entries, in the full form on a line each if any of them has a description. */
  #block(open: string, lines: readonly string[], close: string, level: number): string {
    const isOnOneLine =
      this.#form === "compact" || lines.every((line) => /^\S*$/.test(line.replace(/"(?:[^"\\]|\\.)*"/g, "")));
    if (isOnOneLine) return `${open}${lines.join(",")}${close}`;
    const indented = lines.map((line) => `${" ".repeat(level + 1)}${line}`);
    return `${open}\n${indented.join("\n")}\n${" ".repeat(level)}${close}`;
  }

  protected literal(value: string | number | boolean): string {
    if (typeof value === "string") return pythonString(value);
    return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  }

  protected reference(name: string): string {
    return this.#names.get(name) ?? "Any";
  }

  protected list(items: TypeNode, level: number): string {
    return `list[${this.print(items, level)}]`;
  }

  protected tuple({ items, minItems, rest }: Extract<TypeNode, { kind: "tuple" }>, level: number): string {
    const entries = items.map((each, i) => (i < minItems ? "" : "?") + this.print(each, level));
    return `[${[...entries, ...(rest === undefined ? [] : [`*${this.print(rest, level)}`])].join(",")}]`;
  }

  protected union(members: readonly TypeNode[], level: number): string {
    return [...new Set(members.map((each) => this.print(each, level)))].join("|");
  }

  protected intersection(type: TypeNode, level: number): string {
    return level > MAX_LEVELS ? "Any" : this.print(withoutIntersection(type, this.#model), level + 1);
  }

  protected object({ properties, rest }: ArgumentObject, level: number): string {
    if (properties.length === 0)
      return rest === undefined || rest.kind === "any" || rest.kind === "never"
        ? "dict"
        : `dict[str,${this.print(rest, level)}]`;
    if (level > MAX_LEVELS) return "dict";
    const key = (name: string): string => (isPythonName(name) ? name : pythonString(name));
    const lines = this.#entries(properties, key, level);
    if (rest !== undefined && rest.kind !== "never") lines.push("**others");
    return this.#block("{", lines, "}", level);
  }
}

function briefFacts({ description = "", ...documentation }: Documentation): string {
  const facts: string[] = [];
  if (documentation.default !== undefined && !/default/i.test(description))
    facts.push(`= ${documentation.default}`);
  if (documentation.format !== undefined && !description.toLowerCase().includes(documentation.format))
    facts.push(`(${documentation.format})`);
  if (documentation.deprecated) facts.push("(deprecated)");
  return [...facts, briefText(description).join(" ").trim()].filter((each) => each !== "").join(" ");
}

/** The lines of a text, without unnecessary white space. */
function briefText(text: string): string[] {
  const lines = visibleText(text.trim())
    .replace(/[ \t]+/g, " ")
    .split("\n")
    .map((line) => line.trim());
  return text.trim() === "" ? [] : lines;
}

/** Up to the first full stop or line end, without the full stop. */
function firstSentence(text: string): string {
  const [sentence = ""] = visibleText(text.trim()).split(/(?<=[.!?])\s|(?<=[。！？])|\n/);
  const cut =
    sentence.length <= MAX_SENTENCE_CHARS
      ? sentence
      : `${sentence.slice(0, MAX_SENTENCE_CHARS).replace(/\s+\S*$/, "")}...`;
  return cut.replace(/(?<!\.)[.。]$/, "");
}
