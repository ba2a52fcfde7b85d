/** Translates references to variables in the configuration files of MCP clients to those of ptc.yaml. */

/** A reference to a variable of the environment, as ptc.yaml has it. */
export function variable(name: string): string {
  return `\${${name}}`;
}

/** The ptc.yaml form of a client's reference; `undefined` where ptc has no equivalent. */
function translate(
  reference: string,
  directory: string,
  { pluginRoot, inputs }: ClientSurroundings,
): string | undefined {
  // Claude Code defines this name for its plugins.
  if (reference === "CLAUDE_PLUGIN_ROOT" && pluginRoot !== undefined)
    return pluginRoot.replaceAll("${", "$${");
  const input = /^input:(.+)$/.exec(reference)?.[1];
  if (input !== undefined) return inputs?.has(input) ? variable(inputVariable(input)) : undefined;
  // Cursor and VS Code define these names, and `${env:NAME}`.
  switch (reference) {
    case "workspaceFolder":
      return directory.replaceAll("${", "$${");
    case "userHome":
      return variable("HOME");
    case "pathSeparator":
    case "/":
      return "/";
  }
  const [, name] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)$/.exec(reference) ?? [];
  return name === undefined ? undefined : variable(name);
}

/** What a client knows besides, when it resolves references. */
export interface ClientSurroundings {
  /** Absolute: the folder of the plugin that the file belongs to. */
  pluginRoot?: string | undefined;
  /** The inputs that VS Code asks a person for. Variables of the environment stand for them. */
  inputs?: ReadonlySet<string> | undefined;
}

function inputVariable(id: string): string {
  const name = id.replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase();
  return /^[0-9]/.test(name) ? `_${name}` : name;
}

export type TranslatedText = { ok: true; text: string } | { ok: false; reference: string };

/**
 * Translates every reference in a text of a client's file. When ptc cannot resolve one, such as `${input:token}`, for which
 * an editor asks, the result is not `ok` and names the first such reference.
 *
 * @param directory the client's workspace folder.
 */
export function translateReferences(
  text: string,
  directory: string,
  surroundings: ClientSurroundings = {},
): TranslatedText {
  let unknown: string | undefined;
  const translated = text.replaceAll(/\$\{([^}]*)\}?/g, (whole, reference: string) => {
    const ours = whole.endsWith("}") ? translate(reference, directory, surroundings) : undefined;
    if (ours === undefined) unknown ??= whole;
    return ours ?? whole;
  });
  return unknown === undefined ? { ok: true, text: translated } : { ok: false, reference: unknown };
}
