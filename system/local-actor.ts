import { hostname, userInfo } from "node:os";
import { type Actor, LOCAL_PRINCIPAL } from "../protocol/run-context.ts";

const MAX_NAME_CHARS = 256;

/**
 * The principal of the user who starts ptc on this machine. It owns whatever processes of one user share, such as sessions and
 * approvals.
 */
export function localPrincipal(): string {
  return LOCAL_PRINCIPAL;
}

/** The account and the machine of this process, as the system names them. */
export function localActor(): Actor {
  const uid = process.getuid?.();
  const known = uid === undefined ? {} : { uid };
  return {
    user: userName(uid).slice(0, MAX_NAME_CHARS),
    ...known,
    host: hostname().slice(0, MAX_NAME_CHARS),
  };
}

/** The name of the account, or its number if it has no name, as in containers. */
function userName(uid: number | undefined): string {
  try {
    return userInfo().username;
  } catch {
    return uid === undefined ? "unknown" : String(uid);
  }
}
