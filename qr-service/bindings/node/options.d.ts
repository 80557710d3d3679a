// Made from the definition of the options: qr-service/options/tests/files.rs.

/** What to encode, and how to draw it. `text` or `data` is required. */
export interface QrOptionsOfService {
  /** The text to encode, as UTF-8. */
  text?: string | null;
  /** Bytes to encode instead of a text: Base64 by RFC 4648, either alphabet, padded or not. */
  data?: string | null;
  /** The kind of symbol. */
  kind?: 'qr' | 'micro' | 'rmqr' | null;
  /** Error correction level. The default is M; Micro QR has L, M and Q and by default any, rMQR M and H. */
  level?: 'L' | 'M' | 'Q' | 'H' | null;
  /** Raises the level as far as the version has room. Only for `qr`. */
  boost?: boolean | null;
  /** The smallest version allowed: 1 to 40, for Micro QR 1 to 4. */
  version_min?: number | null;
  /** The largest version allowed. */
  version_max?: number | null;
  /** Height of an rMQR symbol in modules: 7, 9, 11, 13, 15 or 17. The default is what takes least area. */
  rmqr_height?: number | null;
  /** Width of an rMQR symbol in modules: 27, 43, 59, 77, 99 or 139. */
  rmqr_width?: number | null;
  /** Mask pattern: 0 to 7, for Micro QR 0 to 3. The default is the one with the best score. */
  mask?: number | null;
  /** Mode of the data. `auto` takes the fewest bits; `auto-kanji` adds Kanji mode. */
  mode?: 'auto' | 'numeric' | 'alphanumeric' | 'byte' | 'kanji' | 'auto-kanji' | null;
  /**
   * Declares the encoding by an ECI assignment number; UTF-8 is 26, and Shift JIS, which Kanji mode has, is 20.
   * Old readers print the header.
   */
  eci?: number | null;
  /** The data is GS1 element strings, with the character 0x1D as separator. Only for `qr`. */
  gs1?: boolean | null;
  /**
   * Splits data that are too long for one symbol of `version_max` over up to 16 (structured append),
   * and draws this one of them, counted from 1. Only for `qr`.
   */
  part?: number | null;
  /** The format. The path's extension or `Accept` chooses it too; the default is `png`. */
  format?: 'png' | 'svg' | 'pdf' | 'eps' | 'txt' | 'json' | null;
  /** Quiet zone in modules. The default is the standard's: 4, for Micro QR and rMQR 2. */
  margin?: number | null;
  /** Width in pixels, for `png` and `svg`. The modules of a PNG are whole pixels, and the symbol is centred. */
  size?: number | null;
  /**
   * Pixels a module instead of `size`, for `png` and `svg`. The default is 8 for `png`; an `svg` has no
   * size by default and fills the room it gets.
   */
  scale?: number | null;
  /**
   * How a `png` is compressed: `smallest` is Zopfli's, up to a width of 570 pixels, and takes up to 0.3 s. Not with
   * shapes or a logo.
   */
  compression?: 'fast' | 'smallest' | null;
  /** Width in millimetres with the quiet zone, for `pdf` and `eps`. */
  width_mm?: number | null;
  /**
   * Colour of the dark modules, but for `txt` and `json`: 3, 4, 6 or 8 hexadecimal digits, the last ones
   * opacity, `#` before them or not. For `pdf` and `eps` also inks in per cent, such as `cmyk(100,70,0,30)`; the
   * default there is black ink alone.
   */
  dark?: string | null;
  /**
   * Colour of the light modules and the quiet zone; `transparent`, or `0000`, draws none. `pdf` and `eps` leave
   * the paper by default.
   */
  light?: string | null;
  /** Shape of the modules, for `png`, `svg`, `pdf` and `eps`. Only for `qr`. */
  shape?: 'square' | 'dots' | 'rounded' | null;
  /** Shape of the three finder patterns, for `png`, `svg`, `pdf` and `eps`. Only for `qr`. */
  finder_shape?: 'square' | 'rounded' | 'circle' | null;
  /** The characters of `txt`. */
  style?: 'blocks' | 'ascii' | null;
  /** The modules that the characters of `txt` draw: `light` for a dark terminal, `dark` for paper. */
  ink?: 'light' | 'dark' | null;
  /** Title for screen readers, for `svg`. */
  title?: string | null;
  /**
   * A line below the symbol, for `svg`, `pdf` and `eps`, and for a `png` of the service. A long one has smaller
   * letters. `pdf` and `eps` have the characters of Windows-1252, those of western Europe; a `png` also Greek
   * and Cyrillic.
   */
  caption?: string | null;
}

/** What is wrong with an option, and what would work. */
export interface QrFault {
  /** Its name. */
  parameter: string;
  /** For programs, such as `out-of-range`. */
  code: string;
  /** For people. */
  detail: string;
  minimum?: number;
  maximum?: number;
  allowed?: string[];
  suggestion?: string;
}
