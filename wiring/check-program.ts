import type { Viewer } from "../broker/policy/authorizer.ts";
import { findLanguage, type Preparation } from "../languages/language.ts";
import { loadPrinterOr, type OpenLanguages } from "../languages/languages.ts";
import { type HandedIn, settleProgram } from "../languages/settle-program.ts";
import type { ProgramTools } from "../tools/program-tools.ts";

/** Bundles a program and checks its types, and does not run it. Messages may hold secrets. */
export async function checkProgram(
  languages: OpenLanguages,
  handedIn: HandedIn,
  tools: ProgramTools,
  viewer: Viewer,
): Promise<Preparation> {
  const program = await settleProgram(handedIn, await languages.on());
  const printer = await loadPrinterOr(program.language);
  const language = findLanguage(await languages.recorded(program.language), program.language);
  if (language === undefined)
    return { ok: false, type: "BundleError", message: `'${program.language}' is no language`, reasons: [] };
  return language.prepare(program, tools.modulesFor(viewer, printer), { mode: "error" });
}
