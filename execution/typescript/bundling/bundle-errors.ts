import { PROGRAM_SCHEME } from "../../../protocol/paths.ts";
import type { FailureReason } from "../../prepare/failure-reason.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import { foreignLanguage } from "../foreign-language.ts";
import { explainMissingExport } from "../missing-export.ts";
import type { Message } from "./bundler.ts";
import { generatedModule, reasonOf } from "./bundler-messages.ts";

const MAX_ERRORS_SHOWN = 5;
const MAX_LINE_CHARS = 200;

/** A description of why a program cannot be bundled. */
export interface DescribedErrors {
  /** Each error with its place in the program, and what to do. */
  message: string;
  /** The reasons of the errors in the message, in the same order, then what the program looks like instead. */
  reasons: FailureReason[];
}

/** Describes the first of the bundler's errors, and counts the others. */
export async function describeErrors(
  messages: readonly Message[],
  code: string,
  source: ModuleSource,
): Promise<DescribedErrors> {
  const shown = messages.slice(0, MAX_ERRORS_SHOWN);
  const lines = await Promise.all(shown.map((message) => describe(message, source)));
  if (messages.length > shown.length) lines.push(`and ${messages.length - shown.length} more`);
  const reasons = shown.map(reasonOf);
  if (messages.every(isSyntax)) reasons.push(...foreignLanguage(code));
  return { message: lines.join("\n"), reasons };
}

async function describe(message: Message, source: ModuleSource): Promise<string> {
  const text = await explain(message, source);
  const { location } = message;
  if (location === null) return text;
  const place = `${showFile(location.file)}:${location.line}:${location.column + 1}: ${text}`;
  // The author of the program does not know the lines of a generated module.
  if (generatedModule(location.file) !== undefined) return place;
  return `${place}\n    ${location.lineText.trim().slice(0, MAX_LINE_CHARS)}`;
}

/** Whether an error is about how the program is written. */
function isSyntax(message: Message): boolean {
  const { code } = reasonOf(message);
  return message.location !== null && (code === "invalid_text" || code === "top_level_return");
}

async function explain(message: Message, source: ModuleSource): Promise<string> {
  const reason = reasonOf(message);
  switch (reason.code) {
    case "unknown_export": {
      const { module, name } = reason;
      const tools = (await source.load(module))?.tools ?? [];
      return explainMissingExport(module, name, localName(message.location) ?? module, tools);
    }
    case "top_level_return":
      return "a program cannot return at its top level; set globalThis.result instead";
    case "broken_module":
      return "this generated module is broken, run `ptc generate`";
    default:
      return message.text;
  }
}

/** The program's name for an import. The bundler's columns and lengths are in bytes. */
function localName(location: Message["location"]): string | undefined {
  if (location === null) return undefined;
  const { lineText, column, length } = location;
  const name = Buffer.from(lineText)
    .subarray(column, column + length)
    .toString();
  return /^[\w$]+$/.test(name) && name !== "default" ? name : undefined;
}

function showFile(file: string): string {
  const module = generatedModule(file);
  if (module !== undefined) return `servers/${module}/index.ts`;
  const scheme = file.lastIndexOf(PROGRAM_SCHEME);
  return scheme === -1 ? file : file.slice(scheme + PROGRAM_SCHEME.length);
}
