/** Has stacks show the program's own frames alone, with places in its bundle. The process turns these into places in its text. */

interface Site {
  getFileName(): string | null;
  getFunctionName(): string | null;
  getLineNumber(): number;
  getColumnNumber(): number;
}

/** @returns a function that gives the frames of an error, as `name (file:line:column)`, if this has printed its stack. */
export function installErrors(bundleFile: string): (error: Error) => readonly string[] | undefined {
  const frames = new WeakMap<object, readonly string[]>();
  const AMONG_MANY = 50;
  Object.assign(Error, { stackTraceLimit: AMONG_MANY });
  Reflect.set(Error, "prepareStackTrace", (error: Error, sites: readonly Site[]) => {
    const shown = sites.flatMap((site) => {
      if (site.getFileName() !== bundleFile) return [];
      const place = `${bundleFile}:${site.getLineNumber()}:${site.getColumnNumber()}`;
      const name = site.getFunctionName();
      return [name === null || name === "" || name === "<anonymous>" ? place : `${name} (${place})`];
    });
    frames.set(error, shown);
    return [headline(error), ...shown].join("\n    at ");
  });
  return (error) => frames.get(error);
}

function headline(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "Error";
  }
}
