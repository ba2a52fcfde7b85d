import type { EditorSetup } from "../../editor-setup.ts";

/** A configuration that extends the generated one, or takes the output folder for a root beside others, leads to it. */
export const TYPESCRIPT_EDITOR: EditorSetup = {
  files: ["tsconfig.json", "jsconfig.json"],
  settings: "tsconfig.json",
  paths({ json }) {
    const config = json as { extends?: unknown; compilerOptions?: { rootDirs?: unknown } } | undefined;
    return [config?.extends, config?.compilerOptions?.rootDirs].flat();
  },
  advice: (settings) =>
    `add "rootDirs": [".", "./generated"] to its compilerOptions, and the programs and "generated/*.d.ts" to its include (or extend ${settings})`,
};
