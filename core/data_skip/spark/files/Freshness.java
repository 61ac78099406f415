package data_skip;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/**
 * Whether a listed file is still what the listing says. Spark keeps the listing of a DataFrame, view or catalog table for long,
 * yet opens files as they are: a file that was rewritten in place since must be read, whatever its record says.
 *
 * Local files are looked at one by one; elsewhere a folder is listed once, whatever the number of its files.
 */
public final class Freshness {
  private final SparkSession session;
  private Configuration configuration; // made where a folder is listed, once: it is a copy of all settings
  private final Map folders = new HashMap();

  public Freshness(SparkSession session) {
    this.session = session;
  }

  public boolean holds(FileStatusWithMetadata listed) {
    try {
      return "file".equals(listed.getPath().toUri().getScheme()) ? local(listed) : remote(listed);
    } catch (Exception unknown) {
      return false;
    }
  }

  private static boolean local(FileStatusWithMetadata listed) throws java.io.IOException {
    java.nio.file.Path path = Paths.get(listed.getPath().toUri().getPath(), new String[0]);
    BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class, new LinkOption[0]);
    return now.size() == listed.getLen() && now.lastModifiedTime().toMillis() == listed.getModificationTime();
  }

  private boolean remote(FileStatusWithMetadata listed) throws java.io.IOException {
    FileStatus now = (FileStatus) folder(listed.getPath().getParent()).get(listed.getPath().getName());
    return now != null && now.getLen() == listed.getLen() && now.getModificationTime() == listed.getModificationTime();
  }

  private Map folder(Path path) throws java.io.IOException {
    Map files = (Map) folders.get(path);
    if (files == null) {
      files = new HashMap();
      if (configuration == null) configuration = session.sessionState().newHadoopConf();
      FileStatus[] listed = path.getFileSystem(configuration).listStatus(path);
      for (int i = 0; i < listed.length; i++) files.put(listed[i].getPath().getName(), listed[i]);
      folders.put(path, files);
    }
    return files;
  }
}
