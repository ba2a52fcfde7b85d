import { userInfo } from "node:os";
import { LOCAL_PRINCIPAL } from "../protocol/run-context.ts";

/** On whose behalf every command works: whoever starts ptc on this machine. */
export const LOCAL_USER = { principal: LOCAL_PRINCIPAL } as const;

/** Who answers at this machine, as the system knows them. */
export function localUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return "local";
  }
}
