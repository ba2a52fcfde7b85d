import { inspect } from "node:util";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import { PROGRAM_SCHEME } from "../../protocol/runners.ts";
import { ToolError, wireTypeOf } from "./functions/tools.ts";

const MAX_FRAMES = 8;

/** The frames in the user's file of an error, as `name (file:line:column)`; `undefined` if they are to be read from its stack. */
type FramesOf = (error: Error) => readonly string[] | undefined;

/** Describes what a program threw: its name and message, then the frames in the user's own file. Never throws. */
export function describeThrown(thrown: unknown, framesOf: FramesOf = () => undefined): Failure {
  try {
    if (thrown instanceof ToolError) {
      return buildFailure(wireTypeOf(thrown), withFrames(thrown.message, thrown, framesOf), thrown.retryable);
    }
    if (thrown instanceof Error) {
      const headline = thrown.message === "" ? thrown.name : `${thrown.name}: ${thrown.message}`;
      return buildFailure("ScriptError", withFrames(headline, thrown, framesOf));
    }
    return buildFailure(
      "ScriptError",
      `the program threw ${inspect(thrown, { depth: 2 })}, which is not an Error`,
    );
  } catch {
    return buildFailure("ScriptError", "the program threw something that cannot be described");
  }
}

function withFrames(headline: string, error: Error, framesOf: FramesOf): string {
  const { stack } = error;
  const frames = framesOf(error) ?? userFrames(typeof stack === "string" ? stack : "");
  return [headline, ...frames.slice(0, MAX_FRAMES).map((frame) => `    at ${frame}`)].join("\n");
}

/** The frames in the user's file from a stack printed by Node.js, as `name (file:line:column)`. */
export function userFrames(stack: string): string[] {
  return stack.split("\n").flatMap((line) => {
    const [before, after] = line.split(PROGRAM_SCHEME, 2);
    const place = /^.*:\d+:\d+(?=\)?$)/.exec(after ?? "")?.[0];
    const call = /^\s+at (?:async )?(.*?)(?: ?\(?[^ (]*)?$/.exec(before ?? "");
    if (place === undefined || call === null) return [];
    const name = call[1];
    return name === "" || name === "<anonymous>" ? place : `${name} (${place})`;
  });
}
