import type { EditorSetup } from "../editor-setup.ts";

/** Of a table of pyproject.toml, everything until the next table. */
const PYRIGHT_TABLE = /^[ \t]*\[tool\.(?:based)?pyright\][ \t]*(?:#.*)?$([\s\S]*?)(?=^[ \t]*\[|(?![\s\S]))/m;
const LEADING_SETTING = /^[ \t]*(?:stubPath|extends|extraPaths)[ \t]*=[ \t]*(.*)$/gm;

/** `pyrightconfig.json` in the output folder: pyright, and what is made of it, then know the stubs and the runner's Python. */
export const PYRIGHT_CONFIG = `// How editors read programs beside ptc.yaml. Written by \`ptc generate\`: edits are lost.
${JSON.stringify({ stubPath: ".", pythonVersion: "3.11", pythonPlatform: "Linux", reportMissingModuleSource: "none" }, null, 2)}
`;

/** Pyright, Pylance and basedpyright take `pyrightconfig.json` before `pyproject.toml`, which need not speak of them. */
export const PYTHON_EDITOR: EditorSetup = {
  files: ["pyrightconfig.json", "pyproject.toml"],
  settings: "pyrightconfig.json",
  paths({ name, text, json }) {
    if (name.endsWith(".toml")) {
      const [, table] = PYRIGHT_TABLE.exec(text) ?? [];
      if (table === undefined) return undefined;
      return [...table.matchAll(LEADING_SETTING)].flatMap(([, value = ""]) =>
        [...value.matchAll(/["']([^"']*)["']/g)].map(([, path]) => path),
      );
    }
    const config = json as { extends?: unknown; stubPath?: unknown; extraPaths?: unknown } | undefined;
    return [config?.extends, config?.stubPath, config?.extraPaths].flat();
  },
  advice: (settings) => `have it extend ${settings} (or set its "stubPath" to "generated")`,
};
