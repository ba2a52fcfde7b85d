import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { messageOf } from "../../base/error-message.ts";
import { CatalogError } from "../../catalog/catalog-error.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { generatedDirectory } from "./generated-modules.ts";

/** The files by which editors know a folder of TypeScript. The first is ptc's to write where there is none. */
const CONFIGS = ["tsconfig.json", "jsconfig.json"] as const;
const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * What leads an editor from programs beside ptc.yaml to the generated modules. `missing`: nothing does, and ptc may write it.
 * `connected`: the user's file does. `foreign`: the user's file does not, and is not ptc's to change.
 */
export interface EditorConfig {
  state: "missing" | "connected" | "foreign";
  /** The file, absolute. */
  path: string;
}

/** Finds what editors read beside the configuration file. Writes nothing. */
export async function findEditorConfig(configuration: Configuration): Promise<EditorConfig> {
  const directory = generatedDirectory(configuration);
  for (const name of CONFIGS) {
    const path = join(configuration.directory, name);
    const status = await stat(path).catch((error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" ? undefined : ("unreadable" as const),
    );
    if (status === undefined) continue;
    const isReadable = status !== "unreadable" && status.isFile() && status.size <= MAX_CONFIG_BYTES;
    const text = isReadable ? await readFile(path, "utf8").catch(() => "") : "";
    return { state: (await leadsTo(text, path, directory)) ? "connected" : "foreign", path };
  }
  return { state: "missing", path: join(configuration.directory, CONFIGS[0]) };
}

/**
 * Writes the file where there is none, and replaces nothing.
 *
 * @throws CatalogError `write-failed`
 */
export async function writeEditorConfig({ path }: EditorConfig, configuration: Configuration): Promise<void> {
  const base = relative(dirname(path), generatedDirectory(configuration)).split(sep).join("/");
  try {
    await writeFile(path, `{ "extends": "./${base}/tsconfig.json" }\n`, { flag: "wx" });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return;
    throw new CatalogError("write-failed", `${path} cannot be written: ${messageOf(cause)}`, { cause });
  }
}

/** Whether a configuration extends the generated one, or takes the generated folder for a root beside others. */
async function leadsTo(text: string, path: string, directory: string): Promise<boolean> {
  const { parse } = await import("jsonc-parser");
  const config = parse(text, [], { allowTrailingComma: true }) as
    | { extends?: unknown; compilerOptions?: { rootDirs?: unknown } }
    | undefined;
  const listed = [config?.extends, config?.compilerOptions?.rootDirs].flat();
  const paths = listed.flatMap((each) => (typeof each === "string" ? [resolve(dirname(path), each)] : []));
  return paths.some((each) => each === directory || each === join(directory, CONFIGS[0]));
}
