import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { messageOf } from "../base/faults.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import type { EditorSetup } from "../codegen/editor-setup.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { generatedDirectory } from "./generated-modules.ts";

const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * What leads an editor from programs beside ptc.yaml to the generated modules of a language. `missing`: nothing does, and ptc
 * may write it. `connected`: the user's file does. `foreign`: the user's file does not, and is not ptc's to change.
 */
export interface EditorConfig {
  state: "missing" | "connected" | "foreign";
  /** The file, absolute. */
  path: string;
  setup: EditorSetup;
}

/** Finds what editors read beside the configuration file. Writes nothing. */
export async function findEditorConfig(
  configuration: Configuration,
  setup: EditorSetup,
): Promise<EditorConfig> {
  const directory = generatedDirectory(configuration);
  for (const name of setup.files) {
    const path = join(configuration.directory, name);
    const status = await stat(path).catch((error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" ? undefined : ("unreadable" as const),
    );
    if (status === undefined) continue;
    const isReadable = status !== "unreadable" && status.isFile() && status.size <= MAX_CONFIG_BYTES;
    const text = isReadable ? await readFile(path, "utf8").catch(() => "") : "";
    const paths = setup.paths({ name, text, json: await parseLeniently(name, text) });
    if (paths === undefined) continue;
    const led = paths.flatMap((each) => (typeof each === "string" ? [resolve(dirname(path), each)] : []));
    const leads = led.some((each) => each === directory || each === join(directory, setup.settings));
    return { state: leads ? "connected" : "foreign", path, setup };
  }
  return { state: "missing", path: join(configuration.directory, setup.files[0]), setup };
}

/**
 * Writes the file where there is none, and replaces nothing.
 *
 * @throws CatalogError `write-failed`
 */
export async function writeEditorConfig(
  { path, setup }: EditorConfig,
  configuration: Configuration,
): Promise<void> {
  const base = relative(dirname(path), generatedDirectory(configuration)).split(sep).join("/");
  try {
    await writeFile(path, `{ "extends": "./${base}/${setup.settings}" }\n`, { flag: "wx" });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return;
    throw new CatalogError("write-failed", `${path} cannot be written: ${messageOf(cause)}`, { cause });
  }
}

async function parseLeniently(name: string, text: string): Promise<unknown> {
  if (!name.endsWith(".json")) return undefined;
  const { parse } = await import("jsonc-parser");
  return parse(text, [], { allowTrailingComma: true });
}
