/** Opens addresses in the browser of whoever sits at this machine. */
import { spawn } from "node:child_process";
import type { Surroundings } from "../project/surroundings.ts";

/** How long to wait for a launcher. One that still runs after this time counts as successful. */
const PATIENCE_MS = 1_500;

/** Whether a browser would open on this person's screen. Over SSH it would open on another. */
export function canOpenBrowser(env: Surroundings["env"], platform = process.platform): boolean {
  if (env.BROWSER) return true;
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/** Opens a URL in the person's browser. Returns whether that seems to have worked. */
export async function openBrowser(url: string, env: Surroundings["env"]): Promise<boolean> {
  const [command = "", ...args] = launcher(env);
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: "ignore", detached: true, env: { ...env } });
    const timer = setTimeout(() => resolve(true), PATIENCE_MS);
    const settle = (worked: boolean) => {
      clearTimeout(timer);
      resolve(worked);
    };
    child.on("error", () => settle(false));
    child.on("exit", (code) => settle(code === 0));
    child.unref();
  });
}

/** The command that opens a URL: the program that `BROWSER` names, otherwise the launcher of the system. */
function launcher(env: Surroundings["env"]): string[] {
  if (env.BROWSER) return [env.BROWSER];
  if (process.platform === "darwin") return ["open"];
  // A shell would end the command at the `&` of a URL.
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env.WSL_DISTRO_NAME ? ["rundll32.exe", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}
