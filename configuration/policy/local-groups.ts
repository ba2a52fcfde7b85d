import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { messageOf } from "../../base/faults.ts";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";

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
 * The principals in each group, where `os-user:NAME` and `os-group:NAME` become the local principal if the
 * operating system says that the user who started ptc is meant.
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

const resolved = new WeakMap<object, Groups>();

/** The principals in the groups that have limits. */
export function limitedGroups({ limits, policy }: Pick<Configuration, "limits" | "policy">): Groups {
  const known = resolved.get(limits);
  if (known !== undefined) return known;
  const named = Object.entries(policy.groups).filter(([group]) => Object.hasOwn(limits.groups, group));
  const groups = resolveGroups(Object.fromEntries(named));
  resolved.set(limits, groups);
  return groups;
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

/** Names from a directory service may hold spaces, so GNU's NUL separator is tried first. */
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
