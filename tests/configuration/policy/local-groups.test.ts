import { execFileSync } from "node:child_process";
import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { type LocalAccount, resolveGroups } from "../../../configuration/policy/local-groups.ts";

const ADA: LocalAccount = { user: () => "ada", groups: () => ["staff", "domain users"] };

it("the person who started ptc is in the groups that name their system account and groups", () => {
  const groups = {
    staff: ["os-group:staff", "bob"],
    spaced: ["os-group:domain users"],
    admins: ["os-group:wheel"],
    people: ["os-user:ada", "os-group:staff"],
    others: ["os-user:bob"],
  };
  expect(resolveGroups(groups, ADA)).toEqual({
    staff: ["local", "bob"],
    spaced: ["local"],
    admins: [],
    people: ["local"],
    others: [],
  });
});

it("the system is asked, and only where a member needs it", () => {
  const [group = ""] = execFileSync("id", ["-gn"], { encoding: "utf8" }).trim().split("\n");
  const groups = { me: [`os-user:${userInfo().username}`], mine: [`os-group:${group}`] };
  expect(resolveGroups(groups)).toEqual({ me: ["local"], mine: ["local"] });
  const nobody: LocalAccount = {
    user: () => expect.unreachable(),
    groups: () => expect.unreachable(),
  };
  expect(resolveGroups({ a: ["local", "os"] }, nobody)).toEqual({ a: ["local", "os"] });
});

it("a group is not taken for empty where the system says nothing", () => {
  const silent: LocalAccount = {
    user: () => "ada",
    groups: () => {
      throw new Error("no such command");
    },
  };
  expect(() => resolveGroups({ a: ["os-group:staff"] }, silent)).toThrow(
    "policy.groups: 'os-group:staff': the system does not say who runs ptc (no such command); name principals instead",
  );
});
