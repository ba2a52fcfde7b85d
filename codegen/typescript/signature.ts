import type { Documentation, TypeNode } from "../../catalog/model/type-model.ts";
import { parseTool } from "../../catalog/parse-tool.ts";
import { buildToolModel, type ToolModel, withoutTypes } from "../../catalog/tool-model.ts";
import { briefObservedNote, observedNote, withShownOutput } from "../describe-tool.ts";
import type { ShownTool } from "../language-printer.ts";
import {
  BRIEF,
  briefLines,
  COMPACT,
  definitionNames,
  nameTypesBriefly,
  type PrintRequest,
  printTypes,
  type TypeLayout,
  trailingComment,
} from "./print-types.ts";

/** The longest sentence that the compact form quotes from a description. */
const MAX_SENTENCE_CHARS = 300;

/** An explanation of signatures for models. */
export const SIGNATURE_FORM =
  "Signatures are TypeScript, `name({arguments}):Promise<result>`, without a result where the tool declares none; " +
  "behind a property's type stand, after a space, its default (`= value`), (format) and description.";

/**
 * The TypeScript signature of a tool's function. `full` has every description, and `compact` is one line with the first sentence
 * of the tool's description.
 */
export async function toolSignature(tool: ShownTool, form: "full" | "compact"): Promise<string> {
  const definition = parseTool(tool);
  if (definition === undefined) return `${tool.identifier}(args:object)`;
  const { module, identifier, learned, unwraps = false } = tool;
  const model = buildToolModel(definition, module, identifier, undefined, learned, unwraps);
  return form === "full" ? printToolSignature(model) : printCompactSignature(model);
}

/**
 * The shortest faithful declaration of one tool for a model, with every description, in the form of `SIGNATURE_FORM` with one
 * property on each line. The types that it names follow.
 */
export async function printToolSignature(tool: ToolModel): Promise<string> {
  const { call, types } = await printWith(BRIEF, withShownOutput(tool, "full"));
  const comment = trailingComment(briefLines(tool.description ?? ""));
  const note = observedNote(tool);
  const observed = note === undefined ? [] : [`// The result is ${note}.`];
  return [...(comment === "" ? [] : [comment]), ...observed, call, ...types].join("\n");
}

/** One line for a tool, with its types and the first sentence of its description, and one line for each type that it names. */
export async function printCompactSignature(tool: ToolModel): Promise<string> {
  const { call, types } = await printWith(COMPACT, withShownOutput(tool, "compact"));
  const sentence = firstSentence(tool.description ?? "");
  const said = [sentence, briefObservedNote(tool) ?? ""].filter((each) => each !== "").join("; ");
  return [call + trailingComment(briefLines(said)), ...types].join("\n");
}

/** Up to the first full stop or line end, without the full stop. */
function firstSentence(text: string): string {
  const [sentence = ""] = text.trim().split(/(?<=[.!?])\s|(?<=[。！？])|\n/);
  const cut =
    sentence.length <= MAX_SENTENCE_CHARS
      ? sentence
      : `${sentence.slice(0, MAX_SENTENCE_CHARS).replace(/\s+\S*$/, "")}...`;
  return cut.replace(/(?<!\.)[.。]$/, "");
}

async function printWith(layout: TypeLayout, tool: ToolModel): Promise<{ call: string; types: string[] }> {
  return print(layout, tool).catch(() => print(layout, withoutTypes(tool)));
}

async function print(layout: TypeLayout, tool: ToolModel): Promise<{ call: string; types: string[] }> {
  const names = nameTypesBriefly(tool);
  const declared: { name: string; documentation: Documentation }[] = [];
  const requests: PrintRequest[] = [];
  for (const role of ["input", "output"] as const) {
    const model = tool[role];
    if (model === undefined) continue;
    const own = definitionNames(model, role, names);
    const request = (type: TypeNode): PrintRequest => ({
      type,
      names: own,
      any: role === "input" ? "unknown" : "any",
    });
    requests.push(request(model.root));
    declared.push({ name: role, documentation: model.documentation });
    for (const [name, { type, documentation }] of model.definitions) {
      requests.push(request(type));
      declared.push({ name: own.get(name) ?? "never", documentation });
    }
  }
  const texts = await printTypes(requests, layout);
  let input = "unknown";
  let output = "any";
  const types: string[] = [];
  texts.forEach((text, i) => {
    const { name, documentation } = declared[i] ?? { name: "never", documentation: {} };
    const described = behindFirstLine(text, layout.describe(documentation));
    if (name === "input") input = described;
    else if (name === "output") output = described;
    else types.push(`type ${name}=${described}`);
  });
  const takesNone = input === "object" || input === "{[k:string]:never}";
  const args = takesNone ? "" : input.startsWith("{") ? input : `args:${input}`;
  const returns = tool.output === undefined ? "" : `:Promise<${output}>`;
  return { call: `${tool.identifier}(${args})${returns}`, types };
}

/** Puts a comment after the first line of a type, where it hides no part of the type. */
function behindFirstLine(text: string, comment: readonly string[]): string {
  if (comment.length === 0) return text;
  const [first = "", ...rest] = text.split("\n");
  if (rest.length === 0) return `${first} /* ${comment.join("\n")}*/`;
  return [first + trailingComment(comment), ...rest].join("\n");
}
