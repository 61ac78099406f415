package data_skip;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.unsafe.Platform;

/** What the file system says of some files, and does with them: of several at once, where each answer takes its time. */
public final class FilesNow {
  private static final int AT_ONCE = 16; // files of an object store that are asked for

  private FilesNow() {}

  /** The files at some paths; null for one that is gone. */
  public static FileStatus[] of(List paths, final Configuration configuration) throws IOException {
    final FileStatus[] found = new FileStatus[paths.size()];
    List asks = new ArrayList();
    for (int i = 0; i < found.length; i++) {
      final int place = i;
      final Path path = (Path) paths.get(i);
      asks.add(new Callable() {
        public Object call() throws IOException {
          try {
            FileStatus now = path.getFileSystem(configuration).getFileStatus(path);
            found[place] = now.isDirectory() ? null : now;
          } catch (FileNotFoundException gone) {
            found[place] = null;
          }
          return null;
        }
      });
    }
    atOnce(asks, paths.isEmpty() || "file".equals(((Path) paths.get(0)).toUri().getScheme()));
    return found;
  }

  /** Which files and folders there are; none where that cannot be known. */
  public static boolean[] exist(final FileSystem system, final Path[] paths) throws IOException {
    final boolean[] found = new boolean[paths.length];
    List asks = new ArrayList();
    for (int i = 0; i < found.length; i++) {
      final int place = i;
      asks.add(new Callable() {
        public Object call() {
          try {
            found[place] = system.exists(paths[place]);
          } catch (IOException unknown) {
            found[place] = false;
          }
          return null;
        }
      });
    }
    atOnce(asks, "file".equals(system.getUri().getScheme()));
    return found;
  }

  /** What files in a folder begin with, one after the other. `files`: of each how many bytes, and its name. */
  public static byte[] contents(String uri, String[] files, final Configuration configuration) throws IOException {
    final Path folder = StorageSettings.path(uri, configuration);
    final FileSystem system = folder.getFileSystem(configuration);
    int[] starts = new int[files.length + 1];
    for (int i = 0; i < files.length; i++) starts[i + 1] = Math.addExact(starts[i], Integer.parseInt(files[i].substring(0, files[i].indexOf('\t'))));
    final byte[] result = new byte[starts[files.length]];
    List asks = new ArrayList();
    for (int i = 0; i < files.length; i++) {
      final Path path = new Path(folder, files[i].substring(files[i].indexOf('\t') + 1));
      final int start = starts[i];
      final int length = starts[i + 1] - start;
      asks.add(new Callable() {
        public Object call() throws Exception {
          // By what it is known to be: nothing is asked but for its bytes.
          FileStatus known = new FileStatus(length, false, 1, 1, 0, path);
          FSDataInputStream in = (FSDataInputStream) system.openFile(path).withFileStatus(known).build().get();
          try {
            in.readFully(0, result, start, length);
          } finally {
            in.close();
          }
          return null;
        }
      });
    }
    atOnce(asks, "file".equals(folder.toUri().getScheme()));
    return result;
  }

  /** Deletes files in a folder, those that are there. */
  public static void delete(String uri, String[] names, Configuration configuration) throws IOException {
    Path folder = StorageSettings.path(uri, configuration);
    final FileSystem system = folder.getFileSystem(configuration);
    List asks = new ArrayList();
    for (int i = 0; i < names.length; i++) {
      final Path path = new Path(folder, names[i]);
      asks.add(new Callable() {
        public Object call() throws IOException {
          return Boolean.valueOf(system.delete(path, false));
        }
      });
    }
    atOnce(asks, "file".equals(folder.toUri().getScheme()));
  }

  /** Calls all; several at once, unless each is quick. */
  public static void atOnce(List calls, boolean quick) throws IOException {
    ExecutorService threads = quick || calls.size() < 2 ? null : Executors.newFixedThreadPool(Math.min(AT_ONCE, calls.size()));
    try {
      List asked = new ArrayList();
      for (int i = 0; i < calls.size(); i++) {
        if (threads == null) ((Callable) calls.get(i)).call();
        else asked.add(threads.submit((Callable) calls.get(i)));
      }
      for (int i = 0; i < asked.size(); i++) ((Future) asked.get(i)).get();
    } catch (java.util.concurrent.ExecutionException e) {
      Platform.throwException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // whoever has ended the query ends what it does next as well
      Platform.throwException(e);
    } catch (Exception e) {
      Platform.throwException(e);
    } finally {
      if (threads != null) threads.shutdownNow();
    }
  }
}
