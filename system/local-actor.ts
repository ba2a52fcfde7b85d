import { hostname, userInfo } from "node:os";
import type { Actor } from "../protocol/run-context.ts";

const MAX_NAME_CHARS = 256;

/** The account that this process has, and the machine that it is on, as the system names them. */
export function localActor(): Actor {
  const uid = process.getuid?.();
  const known = uid === undefined ? {} : { uid };
  return {
    user: userName(uid).slice(0, MAX_NAME_CHARS),
    ...known,
    host: hostname().slice(0, MAX_NAME_CHARS),
  };
}

/** An account that only has a number, as in containers, goes by it. */
function userName(uid: number | undefined): string {
  try {
    return userInfo().username;
  } catch {
    return uid === undefined ? "unknown" : String(uid);
  }
}
