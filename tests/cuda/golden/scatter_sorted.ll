; shared 0
; ModuleID = "index_add"

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

@"shared" = external addrspace(3) global [0 x i8]
define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7", i64 %".8", i64 %".9")
{
entry:
  br label %"start"
start:
  %".11" = call i64 @"thread"()
  %".12" = call i64 @"threads"()
  %".13" = inttoptr i64 %".2" to ptr
  %".14" = inttoptr i64 %".2" to ptr addrspace(1)
  %".15" = inttoptr i64 %".3" to ptr
  %".16" = inttoptr i64 %".3" to ptr addrspace(1)
  %".17" = inttoptr i64 %".4" to ptr
  %".18" = inttoptr i64 %".4" to ptr addrspace(1)
  %".19" = mul i64 %".1", %".12"
  %".20" = add i64 %".19", %".11"
  %".21" = mul i64 %".5", %".6"
  %".22" = icmp sge i64 %".21", 512
  %".23" = select  i1 %".22", i64 64, i64 256
  %".24" = icmp sge i64 %".21", 8192
  %".25" = select  i1 %".24", i64 8, i64 %".23"
  %".26" = icmp sge i64 %".21", 65536
  %".27" = select  i1 %".26", i64 1, i64 %".25"
  %".28" = srem i64 %".20", %".21"
  %".29" = mul i64 %".21", %".27"
  %".30" = icmp slt i64 %".20", %".29"
  br i1 %".30", label %"start.if", label %"start.endif"
start.if:
  br label %"head"
start.endif:
  ret void
head:
  %".33" = phi  i64 [0, %"start.if"], [%".75", %"loop.endif"]
  %".34" = icmp slt i64 %".33", %".7"
  br i1 %".34", label %"loop", label %"after"
loop:
  %".36" = sdiv i64 %".28", %".6"
  %".37" = srem i64 %".28", %".6"
  %".38" = sdiv i64 %".20", %".21"
  %".39" = icmp eq i64 %".33", %".33"
  %".40" = mul i64 %".33", 1
  %".41" = add i64 %".40", 0
  %".42" = getelementptr inbounds i64, ptr addrspace(1) %".14", i64 %".41"
  %".43" = load i64, ptr addrspace(1) %".42", align 8
  %".44" = icmp slt i64 %".43", 0
  %".45" = add i64 %".43", %".8"
  %".46" = select  i1 %".44", i64 %".45", i64 %".43"
  %".47" = mul i64 0, %".8"
  %".48" = add i64 %".47", %".46"
  %".49" = icmp sge i64 %".46", 0
  %".50" = and i1 %".39", %".49"
  %".51" = icmp slt i64 %".46", %".8"
  %".52" = and i1 %".50", %".51"
  %".53" = mul i64 1, %".8"
  %".54" = sub i64 %".27", 1
  %".55" = and i64 %".48", %".54"
  %".56" = icmp eq i64 %".55", %".38"
  %".57" = and i1 %".52", %".56"
  br i1 %".57", label %"loop.if", label %"loop.endif"
after:
  br label %"start.endif"
loop.if:
  %".59" = mul i64 %".36", %".53"
  %".60" = add i64 %".59", %".48"
  %".61" = mul i64 %".60", %".6"
  %".62" = add i64 %".61", %".37"
  %".63" = mul i64 %".36", %".7"
  %".64" = add i64 %".63", %".33"
  %".65" = mul i64 %".64", %".6"
  %".66" = add i64 %".65", %".37"
  %".67" = getelementptr inbounds float, ptr addrspace(1) %".16", i64 %".66"
  %".68" = load float, ptr addrspace(1) %".67", align 4
  %".69" = getelementptr inbounds float, ptr addrspace(1) %".18", i64 %".62"
  %".70" = load float, ptr addrspace(1) %".69", align 4
  %".71" = fadd contract float %".70", %".68"
  %".72" = getelementptr inbounds float, ptr addrspace(1) %".18", i64 %".62"
  store float %".71", ptr addrspace(1) %".72", align 4
  br label %"loop.endif"
loop.endif:
  %".75" = add nsw i64 %".33", 1
  br label %"head"
}

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7", i64 %".8") nounwind
{
entry:
  br label %"start"
start:
  %".10" = mul i64 %".4", %".5"
  %".11" = mul i64 %".4", %".5"
  %".12" = icmp sge i64 %".11", 512
  %".13" = select  i1 %".12", i64 64, i64 256
  %".14" = icmp sge i64 %".11", 8192
  %".15" = select  i1 %".14", i64 8, i64 %".13"
  %".16" = icmp sge i64 %".11", 65536
  %".17" = select  i1 %".16", i64 1, i64 %".15"
  %".18" = mul i64 %".10", %".17"
  %".19" = call i64 @"threads"()
  %".20" = add i64 %".18", %".19"
  %".21" = sub i64 %".20", 1
  %".22" = call i64 @"threads"()
  %".23" = sdiv i64 %".21", %".22"
  ret i64 %".23"
}
