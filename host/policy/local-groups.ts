import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { messageOf } from "../../base/error-message.ts";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";

const OS_USER = "os-user:";
const OS_GROUP = "os-group:";
const PATIENCE_MS = 5_000;

type Groups = Readonly<Record<string, readonly string[]>>;

/** Who this process runs as, for the system. */
export interface LocalAccount {
  user(): string;
  /** Names of all groups, also those of a directory service. */
  groups(): readonly string[];
}

/**
 * The principals in each group, where `os-user:NAME` and `os-group:NAME` have become the principal of whoever started ptc on this
 * machine, if that is who it is for the system.
 *
 * @throws ConfigurationError when that cannot be known, since a group may be one that rules forbid something to.
 */
export function resolveGroups(groups: Groups, account: LocalAccount = systemAccount()): Groups {
  const isLocal = (member: string): boolean => {
    if (member.startsWith(OS_USER)) return account.user() === member.slice(OS_USER.length);
    return account.groups().includes(member.slice(OS_GROUP.length));
  };
  const resolve = (member: string): string[] => {
    if (!member.startsWith(OS_USER) && !member.startsWith(OS_GROUP)) return [member];
    try {
      return isLocal(member) ? [LOCAL_PRINCIPAL] : [];
    } catch (cause) {
      throw new ConfigurationError(
        "invalid",
        `policy.groups: '${member}': the system does not say who runs ptc (${messageOf(cause).split("\n", 1)[0]}); name principals instead, such as '${LOCAL_PRINCIPAL}'`,
        { cause },
      );
    }
  };
  return Object.fromEntries(
    Object.entries(groups).map(([group, members]) => [group, [...new Set(members.flatMap(resolve))]]),
  );
}

function systemAccount(): LocalAccount {
  let groups: readonly string[] | undefined;
  return {
    user: () => userInfo().username,
    groups() {
      groups ??= readGroups();
      return groups;
    },
  };
}

/** A name may hold spaces where a directory service has it, so that GNU's separator is tried first. */
function readGroups(): readonly string[] {
  const run = (flags: string) =>
    execFileSync("/usr/bin/id", [flags], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: PATIENCE_MS,
    });
  try {
    return run("-Gnz")
      .split("\0")
      .filter((name) => name !== "");
  } catch {
    return run("-Gn")
      .split(/\s+/)
      .filter((name) => name !== "");
  }
}
