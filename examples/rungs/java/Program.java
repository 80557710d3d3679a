import java.io.IOException;

/** Starts the program qr-draw for each picture. */
final class Program {
    private static final String[] COMMAND = {
        System.getenv("QR_PROGRAM"), "--format", "png", "--keep-newline", "-"
    };

    public static void main(String[] args) throws IOException {
        Server.serve(args[0], Program::png);
    }

    static byte[] png(byte[] utf8) throws Exception {
        var process = new ProcessBuilder(COMMAND).start();
        try (var input = process.getOutputStream()) {
            input.write(utf8);
        }
        byte[] png = process.getInputStream().readAllBytes();
        if (process.waitFor() != 0) {
            throw new IOException("qr-draw ended with " + process.exitValue());
        }
        return png;
    }
}
