/** A file by which editors know a folder. */
interface EditorFile {
  name: string;
  text: string;
  /** What it holds where it is JSON, with comments or without; else `undefined`. */
  json: unknown;
}

/** How editors find the modules of a language from programs beside the output folder. */
export interface EditorSetup {
  /** The names of files by which editors know a folder of programs. The first is ptc's to write where there is none. */
  readonly files: readonly [string, ...string[]];
  /** The file of settings in the output folder, which is among the printer's shared files. */
  readonly settings: string;
  /**
   * The paths that a file leads editors to, relative to its folder; `undefined` for a file that has no settings of editors for
   * this language.
   */
  paths(file: EditorFile): readonly unknown[] | undefined;
  /**
   * What to add to a user's file that does not lead to the modules.
   *
   * @param settings the path of the settings, as messages name it.
   */
  advice(settings: string): string;
}
