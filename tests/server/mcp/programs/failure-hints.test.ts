import { describe, expect, it } from "vitest";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../../codegen/typescript/typescript-printer.ts";
import { buildFailure } from "../../../../protocol/failure.ts";
import { hintsFor } from "../../../../server/mcp/programs/program-reply.ts";
import { serversOf } from "../../../catalog/tool-of.ts";
import { executed, viewOf } from "../served.ts";

const known = viewOf(serversOf({ github: [{ name: "list_issues" }] }));
const HINT = "There is no server 'githb'; did you mean github?";

describe("a hint about a program that failed", () => {
  it("is given for a server that it imports, whatever the message says", async () => {
    const failure = buildFailure("BundleError", "it does not work");
    const reasons = [
      { code: "unknown_import", path: "x" } as const,
      { code: "unknown_server", module: "githb" } as const,
    ];
    expect(await hintsFor(executed(failure, { reasons }), [], known, PRINTER)).toEqual([HINT]);
  });

  it("is not taken from a message that says the same", async () => {
    const failure = buildFailure("ScriptError", "there is no server module 'githb'");
    expect(await hintsFor(executed(failure), [], known, PRINTER)).toEqual([]);
  });

  it("says what a rule says of a tool that it forbids, also where the program was refused before it ran", async () => {
    const hidden = known.visibleTo(
      () => false,
      undefined,
      () => "it is forbidden by rule a: ask ops",
    );
    const message =
      "'mcp__github__list_issues' is not available in execute_program: the configuration does not allow it";
    expect(await hintsFor(executed(buildFailure("TypeCheckError", message)), [], hidden, PRINTER)).toEqual([
      "'mcp__github__list_issues' is blocked by the configuration of ptc: it is forbidden by rule a: ask ops",
    ]);
    const silent = known.visibleTo(() => false);
    expect(await hintsFor(executed(buildFailure("TypeCheckError", message)), [], silent, PRINTER)).toEqual(
      [],
    );
  });

  it("names the tool that a program made up as it ran", async () => {
    const failure = buildFailure("ScriptError", "ReferenceError: mcp__github__list_isues is not defined");
    expect(await hintsFor(executed(failure), [], known, PRINTER)).toEqual([
      "There is no tool 'mcp__github__list_isues'; did you mean mcp__github__list_issues?",
    ]);
  });
});
