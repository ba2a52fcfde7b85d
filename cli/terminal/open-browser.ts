import { spawn } from "node:child_process";
import type { Surroundings } from "../surroundings.ts";

/** How long a launcher that does not end is waited for: by then, it has opened something. */
const PATIENCE_MS = 1_500;

/** Whether there is a browser that would show on this person's screen. Over SSH, it would show on another. */
export function canOpenBrowser(env: Surroundings["env"], platform = process.platform): boolean {
  if (env.BROWSER) return true;
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/** Opens an address in the person's browser. Whether that seems to have worked; nothing of it is waited for. */
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

/** `BROWSER` names a program, as for other commands; else it is what the system has for opening addresses. */
function launcher(env: Surroundings["env"]): string[] {
  if (env.BROWSER) return [env.BROWSER];
  if (process.platform === "darwin") return ["open"];
  // No shell: in one, the `&` of an address would end the command.
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env.WSL_DISTRO_NAME ? ["rundll32.exe", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}
