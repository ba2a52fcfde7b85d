import { buildFailure, type Failure } from "../protocol/failure.ts";
import type { OnPhase } from "../protocol/run-context.ts";
import type { Redactor } from "../secrets/redaction.ts";
import {
  type EndedProgram,
  type FailureReason,
  findLanguage,
  type Language,
  type LanguageFacts,
  type TypecheckOptions,
} from "./language.ts";
import type { ModuleSource } from "./module-source.ts";
import type { Program, ProgramSession } from "./program.ts";
import { adviseOnProse, withoutFences } from "./resolve-program.ts";

export type Prepared =
  /** `bundle` is for the runner named `runner`. */
  | {
      ok: true;
      bundle: string;
      runner: string;
      idioms: Language["idioms"];
      warning?: string;
      unchecked?: string;
      hints: readonly string[];
    }
  | { ok: false; error: Failure; reasons: readonly FailureReason[] };

interface PreparationParts {
  languages: readonly Language[];
  modules: ModuleSource;
  redactor: Redactor;
  /** The session in which the program will run. */
  session?: ProgramSession | undefined;
}

/** Redacted advice on a program that ran, in terms of its language. Never rejects. */
export async function adviseProgram(
  program: Program,
  ended: EndedProgram,
  { languages, modules, redactor }: PreparationParts,
): Promise<string[]> {
  const read = { ...program, code: withoutFences(program.code) };
  const advice = (await findLanguage(languages, program.language)?.advise(read, ended, modules)) ?? [];
  return advice.map((line) => redactor.redactText(line).value);
}

/** Prepares a program in its language. Messages and reasons are redacted. */
export async function prepareProgram(
  program: Program,
  { languages, modules, redactor, session }: PreparationParts,
  check: TypecheckOptions,
  onPhase?: OnPhase,
): Promise<Prepared> {
  const language = findLanguage(languages, program.language);
  if (language === undefined) {
    const known = languages.flatMap(({ names }) => names).join(", ");
    const message = `there is no language '${program.language}'; programs are in ${known}`;
    return { ok: false, error: buildFailure("BundleError", message), reasons: [] };
  }
  const read = (each: Program) => ({ ...each, code: withoutFences(each.code) });
  const earlier = session?.earlier.map(read);
  const prepared = await language.prepare(read(program), modules, check, onPhase, earlier);
  // Messages quote the program. They must be redacted before they are cut to the size of a failure's message.
  const redact = (text: string) => redactor.redactText(text).value;
  if (!prepared.ok) {
    const { type, reasons } = prepared;
    const prose = type === "BundleError" ? adviseOnProse(read(program).code) : undefined;
    const advice = prose === undefined ? adviseLanguage(reasons, languages) : [prose];
    const message = [prepared.message, ...advice].join("\n");
    return {
      ok: false,
      error: buildFailure(type, redact(message)),
      reasons: reasons.map((reason) => redactor.redactValue(reason).value as FailureReason),
    };
  }
  const { bundle, warning, unchecked, hints = [] } = prepared;
  return {
    ok: true,
    bundle,
    runner: language.runner,
    idioms: language.idioms,
    hints: hints.map(redact),
    ...(warning === undefined ? {} : { warning: redact(warning) }),
    ...(unchecked === undefined ? {} : { unchecked }),
  };
}

/** Advice on a program that looks like another language, as one line. */
function adviseLanguage(reasons: readonly FailureReason[], languages: readonly LanguageFacts[]): string[] {
  const reason = reasons.find(({ code }) => code === "other_language");
  if (reason?.code !== "other_language") return [];
  const known = findLanguage(languages, reason.language);
  if (known !== undefined)
    return [
      `this looks like ${known.title}: say so with the argument \`language\`, the file's suffix or --language`,
    ];
  const title = reason.language.charAt(0).toUpperCase() + reason.language.slice(1);
  return [`this looks like ${title}: programs are ${languages.map(({ offers }) => offers).join(" or ")}`];
}
