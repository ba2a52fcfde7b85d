import { definedWords } from "../../catalog/learned/defined-words.ts";
import { canBeLearned } from "../../catalog/learned/learned-of-server.ts";
import type { LearnedOf } from "../../catalog/learned/learned-types.ts";
import type { ServerTools } from "../../catalog/tool.ts";

/** A tool whose definition says nothing of its results. */
export interface LearnableTool extends LearnedOf {
  /** The texts that its definition lists as choices. */
  readonly words: ReadonlySet<string>;
}

/** The tools of some servers whose results can be learned, by namespaced name. */
export function learnableTools(servers: readonly ServerTools[]): Map<string, LearnableTool> {
  return new Map(
    servers.flatMap(({ name: server, tools }) =>
      tools.filter(canBeLearned).map((tool): [string, LearnableTool] => {
        const of = { server, tool: tool.name, definition: tool.definitionDigest };
        return [tool.namespacedName, { ...of, words: definedWords(tool.inputSchema) }];
      }),
    ),
  );
}
