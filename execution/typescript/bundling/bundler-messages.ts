import type { FailureReason } from "../../prepare/failure-reason.ts";
import type { Message } from "./bundler.ts";

/** The bundler names generated modules `<namespace>:<module>`. Messages must not show that name. */
export const GENERATED = "generated";

const MISSING_EXPORT = new RegExp(`^No matching export in "${GENERATED}:([a-z0-9_]+)" for import "(.+)"$`);

/** The reason behind a message of the bundler. Messages of plugins carry it as their `detail`. */
export function reasonOf({ text, location, pluginName, detail }: Message): FailureReason {
  if (pluginName === "") {
    const [, module, name] = MISSING_EXPORT.exec(text) ?? [];
    if (module !== undefined && name !== undefined) return { code: "unknown_export", module, name };
  }
  const broken = location === null ? undefined : generatedModule(location.file);
  if (broken !== undefined) return { code: "broken_module", module: broken };
  if (pluginName !== "") return detail as FailureReason;
  return { code: text.startsWith("Top-level return") ? "top_level_return" : "invalid_text" };
}

/** The server module that a file name of the bundler stands for; `undefined` for any other file. */
export function generatedModule(file: string): string | undefined {
  return file.startsWith(`${GENERATED}:`) ? file.slice(GENERATED.length + 1) : undefined;
}
