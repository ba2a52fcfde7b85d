import type { FileImports } from "./folder-cycles.ts";

/**
 * The most files of other folders that `cli/` imports, types included. A use case belongs into `project/`, and a command only reads flags
 * and prints. Lower this number whenever a use case moves; never raise it.
 */
export const MOST_IMPORTED_BY_COMMANDS = 60;

/** The files of these folders that `cli/` imports, sorted. */
export function importedByCommands(imports: FileImports, folders: readonly string[]): string[] {
  const imported = new Set<string>();
  for (const [file, targets] of imports) {
    if (!file.startsWith("cli/")) continue;
    for (const target of targets) {
      const [folder = ""] = target.split("/");
      if (folder !== "cli" && folders.includes(folder)) imported.add(target);
    }
  }
  return [...imported].sort();
}
