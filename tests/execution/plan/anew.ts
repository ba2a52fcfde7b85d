import type { FunctionTool } from "../../../library/ptc.ts";

/** Servers in memory: their tools, and a list of what was called of them. */
interface Served<Given extends unknown[], Made> {
  make: (...given: Given) => { tools: Record<string, FunctionTool>; made: Made };
  first: Given;
}

/** Servers in memory that can begin anew, for one ptc that runs many programs. */
export function anew<Given extends unknown[], Made>({ make, first }: Served<Given, Made>) {
  let current = make(...first);
  const tools = Object.fromEntries(
    Object.entries(current.tools).map(([name, definition]): [string, FunctionTool] => [
      name,
      { ...definition, execute: (...given) => current.tools[name]?.execute(...given) },
    ]),
  );
  return {
    tools,
    /** Begins anew, and returns the list that gets every call from now on. */
    begin: (...given: Given): Made => {
      current = make(...given);
      return current.made;
    },
  };
}
