-- Checks that a job asks Slurm for what its comment says was chosen for it
-- (cli_filter.lua). Users can pass by the filter, or copy a comment.
--
-- Runs inside slurmctld: it reads the settings once, calls nothing and never
-- waits. A comment is not signed, as whatever the filter knows its user knows; a
-- job gains nothing by a false one but the nodes that it names.
--
-- slurm.conf: JobSubmitPlugins=lua. This file, tangram_answers.lua and
-- tangram.conf belong beside slurm.conf on the controller.

local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or "/etc/slurm/"
local answers = dofile(folder .. "tangram_answers.lua")
local settings = answers.settings(folder .. "tangram.conf") or {}

-- Slurm's "not set" of 32 bits.
local NO_VALUE = 4294967294

local function number_of(value)
  value = tonumber(value)
  return value and value < NO_VALUE and value or nil
end

local function is_required(partition)
  for name in (settings.require or ""):gmatch("[^,%s]+") do
    if name == partition then return true end
  end
  return false
end

-- Returns why a job is refused, or nil.
local function refusal(comment, features, min_nodes, max_nodes, partition)
  local question, answer = answers.asked(comment)
  if not question or not answer then
    if not is_required(partition) then return nil end
    return "--comment: " .. (comment or "none") .. "; partition " .. partition ..
        " expects \"tangram model=... global-batch=...\" and the answer of " ..
        "cli_filter.lua"
  end
  if answer:match("^no opinion") then return nil end
  local nodes = answers.chosen(answer)
  local constraint, total
  if nodes then constraint, total = answers.request_of(nodes) end
  if not constraint then
    return "--comment: " .. answer .. "; expected \"chose GROUP=N,... T s\""
  end
  if features ~= constraint then
    return "--constraint: " .. (features or "none") .. "; expected " ..
        constraint .. ", which the comment says was chosen"
  end
  for _, asked in pairs({min_nodes or 1, max_nodes or min_nodes or 1}) do
    if asked ~= total then
      return "--nodes: " .. asked .. "; expected " .. total ..
          ", which the comment says were chosen"
    end
  end
  return nil
end

-- Returns Slurm's verdict. An error of this script refuses nothing.
local function verdict(...)
  local ok, why = pcall(refusal, ...)
  if not ok then
    slurm.log_error("tangram: %s", tostring(why))
  elseif why then
    slurm.log_user("tangram: %s", why)
    return slurm.ERROR
  end
  return slurm.SUCCESS
end

function slurm_job_submit(job, partitions, user)
  return verdict(job.comment, job.features, number_of(job.min_nodes),
                 number_of(job.max_nodes), job.partition or job.default_partition)
end

function slurm_job_modify(job, record, partitions, user)
  if user == 0 then return slurm.SUCCESS end
  return verdict(job.comment or record.comment, job.features or record.features,
                 number_of(job.min_nodes) or number_of(record.min_nodes),
                 number_of(job.max_nodes) or number_of(record.max_nodes),
                 job.partition or record.partition)
end
