import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's tools one after the other in this process, where each would else wait for a JVM to start. A line of
 * standard input is a tool, its fields between tabs: file for its output, file for its errors, class, arguments. The
 * answer is a line with the code that the tool ends with.
 */
public final class Tools {
    private static final class Ended extends Error {
        Ended() {
            super(null, null, false, false);
        }
    }

    /** What the tool that runs ends with: the first code counts, since some catch their own end and end again. */
    private static int ending;

    public static void main(String[] args) throws Exception {
        Exit.Procedure end = (code, message) -> {
            ending = ending < 0 ? code : ending;
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        PrintStream answers = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] f = line.split("\t", -1);
            ending = -1;
            try (PrintStream out = new PrintStream(new FileOutputStream(f[0])); PrintStream err = new PrintStream(new FileOutputStream(f[1]))) {
                System.setOut(out);
                System.setErr(err);
                Class.forName(f[2]).getMethod("main", String[].class).invoke(null, (Object) Arrays.copyOfRange(f, 3, f.length));
            } catch (InvocationTargetException e) {
                ending = e.getCause() instanceof Ended ? ending : 1;
            }
            answers.println(Math.max(ending, 0));
        }
    }
}
