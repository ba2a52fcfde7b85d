import { hostname, userInfo } from "node:os";
import { type Actor, LOCAL_PRINCIPAL } from "../protocol/run-context.ts";

const MAX_NAME_CHARS = 256;

/**
 * The principal of the user who starts ptc on this machine. What processes of one user share with each other, such as sessions and
 * approvals, belongs to it.
 */
export function localPrincipal(): string {
  return LOCAL_PRINCIPAL;
}

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

/** An account without a name, as in containers, is known by its number. */
function userName(uid: number | undefined): string {
  try {
    return userInfo().username;
  } catch {
    return uid === undefined ? "unknown" : String(uid);
  }
}
