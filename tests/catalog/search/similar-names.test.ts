import { describe, expect, it } from "vitest";
import { similarNames } from "../../../catalog/search/similar-names.ts";

const names = [
  "create_issue",
  "createIssues",
  "list_issues",
  "get_user_profile",
  "owner",
  "repository",
  "search",
];

const nearest: [name: string, want: string | undefined][] = [
  ["create_isue", "create_issue"],
  ["createIssue", "create_issue"],
  ["CREATE-ISSUE", "create_issue"],
  ["craete_issue", "create_issue"],
  ["issue_create", "create_issue"],
  ["issues_list", "list_issues"],
  ["getProfile", "get_user_profile"],
  ["ownr", "owner"],
  ["repo_sitory", "repository"],
  ["delete_everything", undefined],
  ["x", undefined],
  ["", undefined],
  ["___", undefined],
];

describe("the nearest name", () => {
  for (const [name, want] of nearest) {
    it(`to '${name}' is ${want ?? "none"}`, () => {
      expect(similarNames(name, names, 3)[0]).toBe(want);
    });
  }

  it("is given with the next ones, no more than asked for, once each, and in one order", () => {
    expect(similarNames("create_issue", [...names, ...names], 2)).toEqual(["create_issue", "createIssues"]);
    expect(similarNames("ab1", ["ab3", "ab2"], 5)).toEqual(["ab2", "ab3"]);
    expect(similarNames("owner", names, 0)).toEqual([]);
  });

  it("is found for and among names of any length", () => {
    const long = "a".repeat(1_000_000);
    expect(similarNames(long, ["owner", long], 3)).toEqual([long]);
  });
});
