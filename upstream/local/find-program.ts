import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import type { LocalTool } from "./local-tool.ts";

/**
 * Why the command of a tool cannot be started on this machine, in one line; `undefined` when it can.
 *
 * @param path the PATH that the command gets.
 */
export async function whyNoProgram(
  { program, cwd }: Pick<LocalTool, "program" | "cwd">,
  path: string | undefined,
): Promise<string | undefined> {
  const folder = await stat(cwd).catch(() => undefined);
  if (folder?.isDirectory() !== true) return `there is no folder ${cwd} to run in`;
  if (program.includes("/")) {
    const found = await lookAt(resolve(cwd, program));
    if (found === "runs") return undefined;
    return found === "none" ? `there is no \`${program}\`` : `\`${program}\` may not be executed`;
  }
  const found = await Promise.all(
    (path ?? "").split(delimiter).map((each) => lookAt(join(resolve(cwd, each), program))),
  );
  if (found.includes("runs")) return undefined;
  if (found.includes("other")) return `\`${program}\` may not be executed`;
  return `there is no command \`${program}\` on the PATH`;
}

async function lookAt(path: string): Promise<"runs" | "none" | "other"> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return "none";
  const mayRun =
    found.isFile() &&
    (await access(path, constants.X_OK).then(
      () => true,
      () => false,
    ));
  return mayRun ? "runs" : "other";
}
