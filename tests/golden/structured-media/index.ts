/** Tools of the MCP server "filesystem". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface ListDirectoryInput {
  path: string;
}

export interface ListDirectoryOutput {
  content: string;
}

/** Get a detailed listing of all files and directories in a specified path. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is essential for understanding directory structure and finding specific files within a directory. Only works within allowed directories. */
export const listDirectory = tool<ListDirectoryInput, ListDirectoryOutput>("mcp__filesystem__list_directory");

export interface ReadMediaFileInput {
  path: string;
}

export interface ReadMediaFileOutput {
  content: ({
    type: "image" | "audio";
    data: string;
    mimeType: string;
  } | {
    type: "resource";
    resource: {
      uri: string;
      mimeType?: string;
      blob: string;
    };
  })[];
}

/** Read a file and return it as a base64-encoded content block with its MIME type. Image and audio files are returned as image/audio content; any other file type is returned as an embedded resource. Only works within allowed directories. */
export const readMediaFile = tool<ReadMediaFileInput, ReadMediaFileOutput>("mcp__filesystem__read_media_file");
